import { describe } from '../base/attribute.js';
import { ArgumentError } from '../base/errors.js';

/** Settings of the whole library. */
export interface Config {
  /** Whether `staticGraph` captures. When false its functions run as they are written. Default true. */
  useStaticGraph: boolean;
}

const settings: Config = { useStaticGraph: true };

/** Settings of the whole library; may be set at any time. Other names and other types are refused. */
export const config: Config = new Proxy(settings, {
  set(target, name, value) {
    if (!Object.hasOwn(target, name)) {
      throw new ArgumentError(`there is no setting ${String(name)}`, {
        op: 'config',
        expected: Object.keys(target).join(', '),
        actual: String(name),
      });
    }
    if (typeof value !== 'boolean') {
      throw new ArgumentError(`config.${String(name)} is a switch`, {
        op: 'config',
        expected: 'true or false',
        actual: describe(value),
      });
    }
    return Reflect.set(target, name, value);
  },
});
