// node:assert/strict for browsers.
import assert from 'assert/build/assert.js';

export default assert.strict;
