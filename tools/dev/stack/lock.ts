/** Lets one process at a time do something, such as open the data of `npm run dev`. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { text } from "node:stream/consumers";

const ANSWER_TIMEOUT_MS = 2_000;

/** Another process has the lock. */
export class Locked extends Error {}

/**
 * Takes the lock by listening on a Unix domain socket at `path`, which sends `address` to each
 * connection. However the process ends, the kernel closes the socket; a remaining file then refuses
 * connections and is replaced. Returns a function that releases the lock and removes the file.
 *
 * @throws Locked `already running at …` when another process has it.
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

/** Removes the file when no process listens on it. */
async function removeStale(path: string): Promise<void> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The lock is released between the two calls: the socket is closed, or its file is gone.
    if (code === "ECONNRESET" || code === "ENOENT") return;
    if (code !== "ECONNREFUSED") throw error;
    await rm(path, { force: true });
    return;
  }
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
  const address = await text(socket).catch(() => "an unknown address");
  throw new Locked(`already running at ${address}`);
}
