/** Logs the result of a call, and maps its error to the wire. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type ConnectError, type ContextValues } from "@connectrpc/connect";
import type { Logger } from "pino";
import { identityOf } from "./context.ts";
import { toConnectError } from "./errors.ts";

/** One of the two is called when the result is known. */
interface CallLog {
  done(): void;
  /** Returns the error that the client gets. */
  failed(error: unknown): ConnectError;
}

/** Measures from now on. */
export function logCall(log: Logger, method: DescMethod, values: ContextValues): CallLog {
  const start = performance.now();
  const fieldsOf = (code: string) => {
    const { service, subject } = identityOf(values).caller;
    return {
      method: `${method.parent.typeName}/${method.name}`,
      caller: service,
      ...(subject !== service && { subject }),
      code,
      ms: Math.round((performance.now() - start) * 10) / 10,
    };
  };
  return {
    done: () => log.debug(fieldsOf("OK"), "call"),
    failed(error) {
      const connectError = toConnectError(error);
      const fields = fieldsOf(Code[connectError.code]);
      if (connectError.code === Code.Internal) log.error({ ...fields, err: error }, "call failed");
      else log.info({ ...fields, refusal: connectError.rawMessage }, "call refused");
      return connectError;
    },
  };
}
