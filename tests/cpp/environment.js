// SPDX-License-Identifier: Apache-2.0
// Emscripten's programs see an environment of their own: this hands them GoogleTest's part of the
// host's.
Module['preRun'] = () => {
  for (const [name, value] of Object.entries(process.env))
    if (name.startsWith('GTEST_')) ENV[name] = value;
};
