/** Takes the present state of something. @returns A function that goes back to it. */
export type Moment = () => () => void;

/** The own members of an object. */
export function membersOf(object: object): Moment {
  return () => {
    const members = Object.getOwnPropertyDescriptors(object);
    return () => {
      for (const key of Reflect.ownKeys(object)) if (!Object.hasOwn(members, key)) Reflect.deleteProperty(object, key); // prettier-ignore
      Object.defineProperties(object, members);
    };
  };
}
