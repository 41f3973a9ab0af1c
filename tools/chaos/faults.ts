/** Plans the faults of a run by its seed, and injects them one after the other. */
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "../../test/support/models/random.ts";

/** A fault of one part of the stack, with its time and length. */
export interface Fault {
  /** From the beginning of the run. */
  readonly atMs: number;
  /** The part: `server 1`. */
  readonly part: string;
  /** The kind of the fault: `killed`. */
  readonly kind: string;
  readonly forMs: number;
}

/** Begins a fault, and returns what ends it. */
export type Begin = () => Promise<() => Promise<void>>;

/** The possible faults, by the part and the kind. */
export type Faults = Readonly<Record<string, Readonly<Record<string, Begin>>>>;

const gapMs = [3_000, 8_000] as const;
const lengthMs = [300, 6_000] as const;

/** How often a kind of fault is drawn; the others, which cut one connection each, once. */
const weights: Readonly<Record<string, number>> = { killed: 3, stopped: 2 };

/** The faults of a run: one every 3 to 8 s, of 0.3 to 6 s, each part as often as any other. */
export function planFaults(
  seed: number,
  totalMs: number,
  kindsOf: Readonly<Record<string, readonly string[]>>,
): Fault[] {
  const random = randomFrom(seed);
  const between = ([from, to]: readonly [number, number]) =>
    Math.round(from + random() * (to - from));
  const oneOf = (names: readonly string[]) => names[Math.floor(random() * names.length)] as string;
  const plan: Fault[] = [];
  for (let atMs = between(gapMs); atMs < totalMs; atMs += between(gapMs)) {
    const part = oneOf(Object.keys(kindsOf));
    const kinds = (kindsOf[part] ?? []).flatMap((kind) => Array(weights[kind] ?? 1).fill(kind));
    plan.push({ atMs, part, kind: oneOf(kinds), forMs: between(lengthMs) });
  }
  return plan;
}

/**
 * Injects the faults at their times, and returns when the last one has ended. Faults of several
 * parts overlap; a part has its next fault when it has recovered from the one before.
 */
export async function injectFaults(
  plan: readonly Fault[],
  faults: Faults,
  { over, onFault }: { readonly over: AbortSignal; readonly onFault: (fault: Fault) => void },
): Promise<void> {
  const start = performance.now();
  const recovered = new Map<string, Promise<void>>();
  const inject = async (fault: Fault) => {
    const begin = faults[fault.part]?.[fault.kind];
    if (!begin || over.aborted) return;
    onFault(fault);
    const end = await begin();
    await sleep(fault.forMs, undefined, { signal: over }).catch(() => {});
    await end();
  };
  for (const fault of plan) {
    const waitMs = Math.max(0, start + fault.atMs - performance.now());
    await sleep(waitMs, undefined, { signal: over }).catch(() => {});
    if (over.aborted) break;
    const before = recovered.get(fault.part) ?? Promise.resolve();
    recovered.set(
      fault.part,
      before.then(() => inject(fault)),
    );
  }
  await Promise.all(recovered.values());
}
