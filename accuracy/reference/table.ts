import { boundOf } from './bounds.js';
import { formats } from './formats.js';
import type { Form } from './forms.js';
import { type Measured, referenceOf } from './measure.js';

const [float32, float64] = formats;

/** The errors of forms as markdown: those that are exact or rounded once by name, a row for each other one. */
export function tableOf(found: ReadonlyMap<Form, readonly Measured[]>): string {
  const forms = [...found.keys()];
  const isWithin = (bound: number) => (form: Form) =>
    boundOf(form, float32) === bound && boundOf(form, float64) === bound;
  const [isExact, isRounded] = [isWithin(0), isWithin(0.5)];
  const rows = forms.filter((form) => !isExact(form) && !isRounded(form));
  const scaled = forms.filter((form) => referenceOf(form).scale !== undefined);
  return [
    '| function | float32 | at most | float64 | at most | float16 | bfloat16 |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map((form) => `| ${cellsOf(form, found.get(form)!).join(' | ')} |`),
    ...sentence('Rounded to nearest', forms.filter(isRounded)),
    ...sentence('Exact', forms.filter(isExact)),
    ...sentence('In ulp of the greatest term, where terms cancel', scaled),
  ].join('\n');
}

function cellsOf(form: Form, errors: readonly Measured[]): readonly string[] {
  const cells = errors.map(({ error }, i) => {
    // Never less than what was measured.
    const shown = (Math.ceil(error * 100 - 1e-9) / 100).toFixed(2);
    return i < 2 ? [shown, String(boundOf(form, formats[i]))] : [shown];
  });
  return [form.label, ...cells.flat()];
}

function sentence(subject: string, forms: readonly Form[]): readonly string[] {
  const names = forms.map(({ label }) => label).join(', ');
  return forms.length === 0 ? [] : ['', `${subject}: ${names}.`];
}
