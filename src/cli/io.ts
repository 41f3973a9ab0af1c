/** What a command reads and writes: the streams, the environment and the signal of its process. */

/** A stream of output. On a terminal it has a width. */
type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
};

export interface Io {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** Writes text or bytes. Waits while the reader is slower than the command. */
export async function write(stream: OutputStream, data: string | Uint8Array): Promise<void> {
  if (stream.write(data)) return;
  await new Promise<void>((resolve) => stream.once("drain", () => resolve()));
}
