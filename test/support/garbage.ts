import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Everything that can be collected is, at the latest after the next turn of the loop. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    gc();
  }
}
