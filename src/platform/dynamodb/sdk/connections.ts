/** The connections of the thin transport: undici, which takes half the CPU of `node:http`. */
import { type HttpRequest, HttpResponse } from "@smithy/core/protocols";
import { Agent, type Dispatcher, errors } from "undici";
import { requestMs } from "../../ports/engine.ts";

interface Connections {
  /** Rejects as soon as the signal aborts, and closes the connection. */
  handle(
    request: HttpRequest,
    options?: { readonly abortSignal?: unknown },
  ): Promise<{ readonly response: HttpResponse }>;
  destroy(): void;
}

/** The connections that either transport may have, and how long one may take to open, in ms. */
export const connectionLimits = { count: 512, connectMs: 1_000 } as const;

const createAgent = (): Agent =>
  new Agent({
    connections: connectionLimits.count,
    allowH2: false,
    connect: { timeout: connectionLimits.connectMs },
    // Shorter than the 350 s after which NAT gateways forget a connection without a word.
    keepAliveTimeout: 60_000,
    // Below is one timer for all that a request waits for, a free connection included.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

/**
 * A request handler for clients of the SDK. The body of an answer is there as a whole. A request
 * fails with a TimeoutError after three seconds without its headers, or without a part of its body.
 */
export function createConnections(dispatcher: Dispatcher = createAgent()): Connections {
  return {
    handle: ({ protocol, hostname, port, path, method, headers, body }, { abortSignal } = {}) =>
      new Promise((resolve, reject) => {
        const parts: Buffer[] = [];
        let response: HttpResponse | undefined;
        let controller: Dispatcher.DispatchController | undefined;
        let given: Error | undefined;

        function settle(): void {
          clearTimeout(timer);
          signal?.removeEventListener("abort", giveUpByCaller);
        }

        function fail(error: Error): void {
          settle();
          reject(response ? withResponse(error, response) : error);
        }

        function giveUp(error: Error): void {
          given = error;
          fail(error);
          controller?.abort(error);
        }

        const signal = abortSignal instanceof AbortSignal ? abortSignal : undefined;
        const giveUpByCaller = () => giveUp(abortError());
        const timer = setTimeout(
          () => giveUp(timeoutError(new Error(`no answer within ${requestMs} ms`))),
          requestMs,
        );
        if (signal?.aborted) return giveUpByCaller();
        signal?.addEventListener("abort", giveUpByCaller, { once: true });

        dispatcher.dispatch(
          {
            origin: `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`,
            path,
            method: method as Dispatcher.HttpMethod,
            headers,
            body,
          },
          {
            onRequestStart(started) {
              controller = started;
              if (given) started.abort(given);
            },
            onResponseStart(_, statusCode, headers) {
              timer.refresh();
              response = new HttpResponse({
                statusCode,
                headers: headers as Record<string, string>,
              });
            },
            onResponseData(_, part) {
              timer.refresh();
              parts.push(part);
            },
            onResponseEnd() {
              settle();
              (response as HttpResponse).body =
                parts.length === 1 ? parts[0] : Buffer.concat(parts);
              resolve({ response: response as HttpResponse });
            },
            onResponseError(_, error) {
              fail(isOfUndici(error) ? timeoutError(error) : error);
            },
          },
        );
      }),
    destroy: () => void dispatcher.destroy(),
  };
}

/** By its name, the SDK sends the request again, as it does after errors of `node:http`. */
const timeoutError = (error: Error): Error => Object.assign(error, { name: "TimeoutError" });

/** By its name, the SDK does not send the request again. */
const abortError = (): Error => Object.assign(new Error("aborted"), { name: "AbortError" });

/** Whether undici has found the connection or the answer broken. Other errors are those of Node. */
const isOfUndici = (error: Error): boolean =>
  error instanceof errors.HTTPParserError ||
  (error instanceof errors.UndiciError && !(error instanceof errors.InvalidArgumentError));

/** An error within a body has, as one of the SDK, the answer that has begun. */
function withResponse(error: Error, response: HttpResponse): Error {
  Object.defineProperty(error, "$response", { value: response });
  return Object.assign(error, { $metadata: { httpStatusCode: response.statusCode } });
}
