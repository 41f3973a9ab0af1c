/** Requests and answers of Google's REST APIs on loopback. */

/** A request that has a valid token. */
export interface GoogleRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON; undefined without a body. */
  readonly body: unknown;
}

/** An error as Google's APIs answer it. */
export class GoogleError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, message: string, reason = "badRequest") {
    super(message);
    this.status = status;
    this.reason = reason;
  }

  /** The body of the answer. */
  get body(): object {
    const errors = [{ domain: "global", reason: this.reason, message: this.message }];
    return { error: { code: this.status, message: this.message, errors } };
  }
}
