import { settings } from '../support/settings.js';
import { fuzzNests } from './nests.js';

/*
 * Random nests of loops and branches: 60 of them, and 3,000 at night.
 */

fuzzNests(settings.programs ?? (settings.isLong ? 3000 : 60));
