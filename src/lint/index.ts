import type { Rule } from './linter.js';
import { noArrayTruthiness } from './no-array-truthiness.js';

export type { Rule };

/** A plugin for ESLint's flat configuration and for oxlint's `jsPlugins`. */
export interface LintPlugin {
  readonly meta: { readonly name: 'kaon' };
  readonly rules: { 'no-array-truthiness': Rule };
  readonly configs: {
    /** Every rule, as an entry of `eslint.config.js`. */
    readonly recommended: {
      readonly name: string;
      readonly plugins: Record<string, LintPlugin>;
      readonly rules: Record<string, 'error'>;
    };
  };
}

const plugin: LintPlugin = {
  meta: { name: 'kaon' },
  rules: { 'no-array-truthiness': noArrayTruthiness },
  configs: {
    get recommended() {
      return {
        name: 'kaon/recommended',
        plugins: { kaon: plugin },
        rules: { 'kaon/no-array-truthiness': 'error' as const },
      };
    },
  },
};

export default plugin;
