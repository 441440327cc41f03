// SPDX-License-Identifier: Apache-2.0
// Emscripten's programs have an environment of their own; this copies the GTEST_ variables of the
// host into it.
Module['preRun'] = () => {
  for (const [name, value] of Object.entries(process.env))
    if (name.startsWith('GTEST_')) ENV[name] = value;
};
