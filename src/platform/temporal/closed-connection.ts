/** Ends calls on a connection to Temporal that this process has closed. */
import { InterceptingCall, type Interceptor, Metadata, status } from "@grpc/grpc-js";

type NextCall = ConstructorParameters<typeof InterceptingCall>[0];

/**
 * Ends a call with CANCELLED when the connection is closed. grpc-js throws then, also where the
 * SDK's interceptor sends a request again from a timer: the exception would end the process, and
 * the caller would never get an answer. It stands behind that interceptor.
 */
export const cancelWhenClosed: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch (error) {
    const details = error instanceof Error ? error.message : String(error);
    return new InterceptingCall(cancelledCall(details));
  }
};

/** A call that sends nothing. */
function cancelledCall(details: string): NextCall {
  return {
    start(_metadata, listener) {
      listener?.onReceiveMessage?.(null);
      listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata: new Metadata() });
    },
    sendMessageWithContext() {},
    sendMessage() {},
    startRead() {},
    halfClose() {},
    cancelWithStatus() {},
    getPeer: () => "none",
    getAuthContext: () => null,
  };
}
