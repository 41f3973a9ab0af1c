/** What lies between the processes of a model and the store: time, and requests that are lost. */
import type { Reader } from "../../../src/hub/deps.ts";
import type { ItemStore, Write } from "../../../src/platform/engine/item-store.ts";
import { requestMs } from "../../../src/platform/ports/engine.ts";

/** What happens to an attempt of a worker. All times are in ms. */
export interface Fate {
  /** The time between two of its rows. */
  readonly rowMs: number;
  /** It stops before this row, for so long. */
  readonly stalls: { readonly row: number; readonly ms: number };
  /** How long two of three reads of a bulk grant's record take, beginning with the second one. */
  readonly recordMs: number;
  /** How long its reads of the records of rows take. */
  readonly readMs: number;
  /** How long its transactions take. */
  readonly commitMs: number;
  /** After so long it loses Temporal, but not the store; or its process is killed. */
  readonly end: { readonly as: "lost" | "killed"; readonly ms: number } | undefined;
}

/** The link of a process to the store. */
export interface Link {
  /** Takes as long as a request, or an answer, is under way. */
  readonly hop: () => Promise<void>;
  /** A dead process sends nothing, and gets no answers. */
  readonly isDead: () => boolean;
  readonly random: () => number;
  /** Hears of each transaction that is sent for the first time. */
  readonly onSent: (writes: readonly Write[]) => void;
  readonly fate: Fate | undefined;
}

/** The share of requests and signals that are lost. */
export const lost = 0.05;

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

export const never = new Promise<never>(() => undefined);

/** Commits one after another, and tells of each in the order of the store. */
export function observed(
  store: ItemStore,
  onCommitted: (writes: readonly Write[]) => void,
): ItemStore {
  const tokens = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  return {
    ...store,
    commit(writes, token) {
      const committed = last.then(async () => {
        const result = await store.commit(writes, token);
        if (result.kind === "committed" && !tokens.has(token)) onCommitted(writes);
        if (result.kind === "committed") tokens.add(token);
        return result;
      });
      last = committed.catch(() => undefined);
      return committed;
    },
  };
}

function sender({ hop, isDead }: Link) {
  return async <T>(request: () => Promise<T>): Promise<T> => {
    if (isDead()) return never;
    await hop();
    const answer = await request();
    await hop();
    return isDead() ? never : answer;
  };
}

/** The store as a process reaches it. */
export function linkedStore(store: ItemStore, link: Link): ItemStore {
  const send = sender(link);
  const { isDead, random, fate, onSent } = link;
  const tokens = new Set<string>();
  return {
    ...store,
    async read(refs) {
      await pause(fate?.readMs ?? 0);
      return send(() => store.read(refs));
    },
    readAtomically: (refs) => send(() => store.readAtomically(refs)),
    async commit(writes, token) {
      if (isDead()) return never;
      if (!tokens.has(token)) onSent(writes);
      tokens.add(token);
      const { commitMs = 0 } = fate ?? {};
      await pause(commitMs);
      if (random() >= lost) return send(() => store.commit(writes, token));
      // What arrives as late as a request may take is committed, too, but nobody hears of it.
      await pause(requestMs - commitMs - 1);
      if (random() < 0.5) await store.commit(writes, token);
      return isDead() ? never : { kind: "unknown" };
    },
  };
}

type Read = (...args: unknown[]) => Promise<unknown>;

/** The reads of a process. */
export function linkedReader(reader: Reader, link: Link): Reader {
  const send = sender(link);
  let records = 0;
  const entries = Object.entries(reader).map(([name, read]) => [
    name,
    async (...args: unknown[]) => {
      const [ref] = args as [{ readonly kind?: string } | undefined];
      if (name === "get" && ref?.kind === "bulkGrant") records += 1;
      else return send(() => (read as Read)(...args));
      // One request is late, then one answer.
      const ms = link.fate?.recordMs ?? 0;
      const isLate = records % 3;
      if (isLate === 2) await pause(ms);
      const found = await send(() => (read as Read)(...args));
      if (isLate === 0) await pause(ms);
      return found;
    },
  ]);
  return Object.fromEntries(entries);
}
