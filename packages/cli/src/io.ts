/** The input and output of a command: the streams, environment and signal of its process. */

/** A stream of output. On a terminal it has a width and a height. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

export interface Io {
  readonly stdin: NodeJS.ReadableStream & {
    readonly isTTY?: boolean;
    readonly readableEnded?: boolean;
  };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/**
 * Writes text or bytes, and waits until the reader has room for more. Returns after an error, too,
 * which the stream itself reports.
 */
export const write = (stream: OutputStream, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve) => stream.write(data, () => resolve()));
