import type * as t from '@babel/types';

/** A member that only syntax can name, and functions that read and write it, given the value of `subject`. */
interface SyntacticPlace {
  readonly subject: t.Node | null;
  readonly accessors: readonly [read: string, write: string];
}

/** A private member of an object, or a member of `super`; null for all other members. */
export function syntacticPlace({
  object,
  property,
  computed,
}: t.MemberExpression): SyntacticPlace | null {
  const placeOf = (): { readonly subject: t.Node | null; readonly text: string } | null => {
    if (property.type === 'PrivateName')
      return { subject: object, text: `subject.#${property.id.name}` };
    if (object.type !== 'Super') return null;
    if (computed) return { subject: property, text: 'super[subject]' };
    return { subject: null, text: `super.${(property as t.Identifier).name}` };
  };
  const place = placeOf();
  if (place === null) return null;
  const { subject, text } = place;
  return { subject, accessors: [`(subject) => ${text}`, `(subject, value) => (${text} = value)`] };
}
