/** Base of classes whose objects users get from functions: they see no constructor that they could call. */
// oxlint-disable-next-line typescript/no-extraneous-class -- a base class is the one place for a protected constructor
export abstract class MadeByFunctions {
  protected constructor() {}
}
