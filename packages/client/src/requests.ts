/** The types of the client's methods, whose requests have to have what the server requires. */
import type {
  DescMessage,
  DescMethod,
  DescService,
  Message,
  MessageShape,
} from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";
import type { RequiredFields } from "./required-fields.ts";

/**
 * The argument of a method with requests of this type: a message, or its fields. A field that the
 * server requires has to be there, also in messages within; all other fields are optional.
 */
export type RequestOf<Desc extends DescMessage> = Init<MessageShape<Desc>>;

/** The client of a service: that of Connect, with its requests as above. */
export type ServiceClient<Desc extends DescService> = {
  [P in keyof Desc["method"]]: (
    request: ArgumentOf<Desc["method"][P]>,
    options?: CallOptions,
  ) => AnswerOf<Client<Desc>[P]>;
};

type ArgumentOf<Method extends DescMethod> = Method["methodKind"] extends
  | "client_streaming"
  | "bidi_streaming"
  ? AsyncIterable<RequestOf<Method["input"]>>
  : RequestOf<Method["input"]>;

type AnswerOf<F> = F extends (...args: never[]) => infer Answer ? Answer : never;

type RequiredOf<M extends Message> = M["$typeName"] extends keyof RequiredFields
  ? RequiredFields[M["$typeName"]]
  : never;

/** As MessageInitShape of Protobuf-ES, but for the required fields. */
type Init<M extends Message> =
  | M
  | ({
      [P in keyof M as P extends "$unknown" | RequiredOf<M> ? never : P]?: P extends "$typeName"
        ? never
        : FieldInit<M[P]>;
    } & {
      [P in keyof M as P extends RequiredOf<M> ? P : never]-?: SetInit<M[P]>;
    });

/** The values of a required field: a message is not undefined, and of a oneof one is chosen. */
type SetInit<F> = F extends undefined | { case: undefined } ? never : FieldInit<F>;

type FieldInit<F> = F extends Uint8Array
  ? F
  : F extends (infer Item)[]
    ? FieldInit<Item>[]
    : F extends Message
      ? Init<F>
      : F extends { case: infer Case extends string; value: infer Value extends Message }
        ? { case: Case; value: Init<Value> }
        : F;
