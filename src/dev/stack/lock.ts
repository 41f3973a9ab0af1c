/** Keeps a second stack from opening the data of one that runs. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { text } from "node:stream/consumers";

const ANSWER_TIMEOUT_MS = 2_000;

/**
 * Takes the lock by listening on a Unix domain socket at `path`, and tells `address` to everybody
 * who connects. The kernel ends the listening with the process, however that ends; a file that is
 * left behind refuses connections and is replaced. Returns how to release the lock, file and all.
 *
 * @throws Error `already running at …` when another process has it.
 */
export async function lock(path: string, address: string): Promise<() => void> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.end(address);
  });
  try {
    await once(server.listen(path), "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    await removeStale(path);
    return lock(path, address);
  }
  return () => server.close();
}

/** Removes the file when nobody listens on it. */
async function removeStale(path: string): Promise<void> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ECONNREFUSED" && code !== "ENOENT") throw error;
    await rm(path, { force: true });
    return;
  }
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
  const address = await text(socket).catch(() => "an address that it does not tell");
  throw new Error(`already running at ${address}`);
}
