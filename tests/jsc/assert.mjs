// SPDX-License-Identifier: Apache-2.0

// Stands for `node:assert/strict` in the shell of JavaScriptCore.

import assert from 'assert/';

export default assert.strict;
