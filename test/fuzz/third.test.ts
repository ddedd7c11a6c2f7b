import { testPrograms } from './campaign.js';

// Random programs give the same step by step and compiled in every way there is: the third part of them.
testPrograms(2);
