/** A lease in the store. Its holder writes heartbeats, so that no clocks are compared. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../observe/log.ts";
import type { Deps } from "../ports/deps.ts";
import type { Lease, LeaseHolder } from "../ports/lease.ts";
import { leaseRef } from "../ports/records.ts";
import type { Milliseconds } from "../words/units.ts";

type StoreDeps = Pick<Deps, "engine" | "reader">;

interface LeaseTiming {
  /** The interval in which a holder writes its heartbeat, and the other processes read it. */
  readonly heartbeatMs: Milliseconds;
  /** A holder without a heartbeat for this time is taken for dead. */
  readonly deadMs: Milliseconds;
}

const usual: LeaseTiming = { heartbeatMs: 10_000, deadMs: 30_000 };

/**
 * Creates the lease of this name, as one process holds it. The process that starts last takes it
 * from its holder, because it may have a newer version or configuration; it waits one heartbeat
 * interval before it holds the lease, so that the holder stops meanwhile. Later, any other process
 * replaces a holder that dies.
 *
 * Two processes may hold it for a moment when one of them is slow, so the work has to stand that.
 */
export function createLease(
  deps: StoreDeps,
  name: string,
  log: Logger,
  { heartbeatMs, deadMs }: LeaseTiming = usual,
): Lease {
  const record = followLease(deps, name);
  const closed = new AbortController();
  const options = { ref: false, signal: closed.signal };
  const pause = () => sleep(heartbeatMs, undefined, options).catch(() => {});
  let hasStarted = false;
  let held: AbortController | undefined;
  let isUnanswered = false;

  async function tryToTake(): Promise<boolean> {
    if (!hasStarted) {
      const wasFree = await record.overtake();
      hasStarted = true;
      if (wasFree) return true;
      await pause();
      return record.heartbeat();
    }
    await record.read();
    return record.isFree() || record.unchangedMs() >= deadMs ? record.replace() : false;
  }

  /** Writes heartbeats until another process has taken the lease, or this one has released it. */
  async function keep(hold: AbortController): Promise<void> {
    for (;;) {
      await pause();
      if (hold.signal.aborted) return;
      try {
        if (!(await record.heartbeat())) hold.abort();
      } catch (err) {
        log.warn({ err, lease: name }, "the lease could not be kept; trying again");
      }
    }
  }

  async function take(): Promise<AbortSignal | undefined> {
    while (!closed.signal.aborted) {
      try {
        const isTaken = await tryToTake();
        isUnanswered = false;
        if (isTaken) {
          held = new AbortController();
          void keep(held);
          return held.signal;
        }
      } catch (err) {
        isUnanswered = true;
        log.warn({ err, lease: name }, "the lease could not be taken; trying again");
      }
      await pause();
    }
    return undefined;
  }

  async function release(): Promise<void> {
    held?.abort();
    held = undefined;
    try {
      await record.release();
    } catch (err) {
      log.warn({ err, lease: name }, "the lease could not be released; other servers wait for it");
    }
  }

  return {
    take,
    release,
    isElsewhere: record.isElsewhere,
    isUnanswered: () => isUnanswered,
    async close() {
      closed.abort();
      await release();
    },
  };
}

/** A released lease has a holder without a name, because records keep their versions. */
const nobody = "";

/** The record of a lease as this process has seen it last. All changes of it are conditional. */
function followLease({ engine, reader }: StoreDeps, name: string) {
  const ref = leaseRef(name);
  const me = randomUUID();
  let seen: LeaseHolder = { holder: nobody, heartbeat: 0 };
  let seenAt = performance.now();

  const isMine = ({ holder }: LeaseHolder) => holder === me;
  const isFree = ({ holder }: LeaseHolder) => holder === nobody;
  const isAsSeen = ({ holder, heartbeat }: LeaseHolder) =>
    holder === seen.holder && heartbeat === seen.heartbeat;

  function see(found: LeaseHolder): void {
    if (!isAsSeen(found)) seenAt = performance.now();
    seen = found;
  }

  /** Sets the holder if `isExpected` of the record, and returns the record as it was. */
  async function change(
    holder: string,
    isExpected: (found: LeaseHolder) => boolean,
  ): Promise<LeaseHolder> {
    const { before, after } = await engine.transact({
      key: ref,
      readSet: [ref],
      expectAbsent: [],
      call: undefined,
      decide(tx) {
        const before = tx.get(ref) ?? { holder: nobody, heartbeat: 0 };
        if (!isExpected(before)) return { before, after: before };
        const after = { holder, heartbeat: before.heartbeat + 1 };
        tx.put(ref, after);
        return { before, after };
      },
    });
    see(after);
    return before;
  }

  return {
    isFree: () => isFree(seen),
    isElsewhere: () => !isFree(seen) && !isMine(seen),
    /** For how long nobody has changed the record, as far as this process has seen. */
    unchangedMs: () => performance.now() - seenAt,
    async read(): Promise<void> {
      see((await reader.get(ref))?.value ?? { holder: nobody, heartbeat: 0 });
    },
    /** Takes the lease from whoever has it. Returns whether nobody had it. */
    overtake: async () => isFree(await change(me, () => true)),
    /** Takes it if it is still as it was seen. Returns whether it was. */
    async replace(): Promise<boolean> {
      await change(me, isAsSeen);
      return isMine(seen);
    },
    /** Returns whether this process still has it. */
    heartbeat: async () => isMine(await change(me, isMine)),
    release: async () => {
      await change(nobody, isMine);
    },
  };
}
