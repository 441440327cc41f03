// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Searches in pieces: coroutines that pause during and between descents, so that their caller can
/// show progress, do something else, or give up. No thread is needed.

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

namespace dpftrl::detail {

/// The point at which the innermost task paused, and the iterations so far.
class Pieces {
 public:
  /// Awaited by a task that pauses; without Pieces to resume it, the task continues.
  struct Pause {
    Pieces* pieces;
    bool await_ready() const noexcept { return pieces == nullptr; }
    void await_suspend(std::coroutine_handle<> at) const noexcept { pieces->at_ = at; }
    void await_resume() const noexcept {}
  };

  void begin(std::coroutine_handle<> task) { at_ = task; }
  /// Runs until the next pause or the end.
  void resume() { at_.resume(); }
  void count(std::int64_t iterations) { iterations_ = std::max(iterations_, iterations); }
  std::int64_t iterations() const { return iterations_; }

 private:
  std::coroutine_handle<> at_;
  std::int64_t iterations_ = 0;
};

/// A value being computed by a coroutine. An awaited task runs immediately, and its awaiter resumes
/// when it has ended. Everything the task refers to must outlive it.
template <class Value>
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct AtEnd {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle task) const noexcept {
      return task.promise().waiting;
    }
    void await_resume() const noexcept {}
  };

  struct promise_type {
    std::optional<Value> value;
    std::exception_ptr thrown;
    std::coroutine_handle<> waiting = std::noop_coroutine();

    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    AtEnd final_suspend() const noexcept { return {}; }
    void return_value(Value result) { value.emplace(std::move(result)); }
    void unhandled_exception() { thrown = std::current_exception(); }
  };

  explicit Task(Handle handle) : handle_(handle) {}
  ~Task() {
    if (handle_) handle_.destroy();
  }
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) const noexcept {
    handle_.promise().waiting = caller;
    return handle_;
  }
  Value await_resume() const { return result(); }

  Handle handle() const { return handle_; }
  bool is_done() const { return handle_.done(); }
  /// Result of a finished task, which can be taken once; throws what the task threw.
  Value result() const {
    promise_type& promise = handle_.promise();
    if (promise.thrown) std::rethrow_exception(promise.thrown);
    return std::move(promise.value).value();
  }

 private:
  Handle handle_;
};

/// Runs a task that was given no Pieces from beginning to end.
template <class Value>
Value run(const Task<Value>& task) {
  task.handle().resume();
  return task.result();
}

}  // namespace dpftrl::detail
