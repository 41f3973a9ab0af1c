/** A response of HTTP/2 that takes a message only when the one before has been sent. */
import { Http2ServerResponse } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";

type Written = (error: Error) => void;
type Done = (error?: Error) => void;

/**
 * Node's own takes up to 64 KiB for which the client's window has no room yet. A stream of counts
 * would leave more than a thousand of them there, which a slow reader gets one after another. With
 * this one the server waits, and then takes the latest count.
 */
export class UnbufferedResponse extends Http2ServerResponse {
  /** Always asks to wait for "drain", which comes when flow control has let the chunk go. */
  override write(
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | Written,
    callback?: Written,
  ): boolean {
    // It gets no error when the chunk has been sent, whatever Node's type says.
    const written = (typeof encoding === "function" ? encoding : callback) as Done | undefined;
    super.write(chunk, typeof encoding === "string" ? encoding : "utf8", (error?: Error) => {
      // Connect prints an error of any other code, such as that of Node for a write in flight.
      written?.(error && new ConnectError("the client has left", Code.Aborted));
      if (!error) this.emit("drain");
    });
    return false;
  }
}
