/** Requests and answers of Google's REST APIs on loopback. */

/** A request that has a valid token. */
export interface GoogleRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON; undefined without a body, and of an upload. */
  readonly body: unknown;
  readonly bytes: Buffer;
}

/** An error as Google's APIs answer it. */
export class GoogleError extends Error {
  readonly status: number;
  readonly reason: string;
  /** Set for Sheets, whose errors have a status by name, and none by reason. */
  isOfSheets = false;

  constructor(status: number, message: string, reason = "badRequest") {
    super(message);
    this.status = status;
    this.reason = reason;
  }

  /** The body of the answer. */
  get body(): object {
    const { status: code, message } = this;
    if (this.isOfSheets) return { error: { code, message, status: statusNames[code] } };
    const errors = [{ domain: "global", reason: this.reason, message: this.message }];
    return { error: { code, message, errors } };
  }
}

const statusNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};
