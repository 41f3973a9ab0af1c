/** The error that rules and use cases throw, with its reason. */
import { type MetadataTypes, type Reason, reasonTable, type ValueType } from "./reasons.ts";

/** The metadata of a reason as texts: what is optional may be missing. */
type Metadata<R extends Reason> = {
  readonly [Name in keyof MetadataTypes<R>]?: string;
} & {
  readonly [Name in keyof MetadataTypes<R> as MetadataTypes<R>[Name] extends ValueType
    ? Name
    : never]: string;
};

/** One reason has its own metadata; an error that is made from another one has that of it. */
type MetadataArgs<R extends Reason> = [Reason] extends [R]
  ? [metadata?: Readonly<Record<string, string>>]
  : keyof Metadata<R> extends never
    ? []
    : Record<never, never> extends Metadata<R>
      ? [metadata?: Metadata<R>]
      : [metadata: Metadata<R>];

/** The one error that rules and use cases throw. Its message and metadata may cross the wire. */
export class DomainError<R extends Reason = Reason> extends Error {
  override readonly name = "DomainError";
  readonly reason: R;
  readonly metadata: Readonly<Record<string, string>>;

  constructor(reason: R, message: string, ...[metadata = {}]: MetadataArgs<R>) {
    super(message);
    this.reason = reason;
    this.metadata = metadata;
  }

  /** True when the same call may succeed later without any other change. */
  get retryable(): boolean {
    return reasonTable[this.reason].retryable;
  }
}
