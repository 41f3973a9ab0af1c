/** Keeps the items that transactions under way have locked, and their request tokens. */
import type { AttributeMap } from "./wire.ts";

/** Tokens of committed transactions that are kept; more than tests send in ten minutes. */
const TOKENS_KEPT = 100_000;

/** An item as it was before the transaction that has locked it. */
export type BeforeImage = {
  readonly table: string;
  /** Absent when there was no such item. */
  readonly item: AttributeMap | undefined;
  /** Whether the transaction deletes it. */
  readonly isDeleted: boolean;
};

/** The locks of one request. Each is released once, so that a later lock is not released. */
export type Lease = {
  /** From now on plain reads see this image of a locked item. */
  hide(key: string, image: BeforeImage): void;
  release(key: string): void;
  /** Releases the remaining keys. */
  end(): void;
};

export type ItemLocks = ReturnType<typeof createItemLocks>;

/** Items are identified by their `itemKey`, which is undefined without a valid key. */
export function createItemLocks() {
  const held = new Map<string, BeforeImage | undefined>();
  return {
    /** Whether any item is hidden behind a before-image. */
    get isHiding(): boolean {
      return [...held.values()].some((image) => image !== undefined);
    },
    /** For each item, whether it is locked. */
    conflicts: (keys: readonly (string | undefined)[]): boolean[] =>
      keys.map((key) => key !== undefined && held.has(key)),
    /** Locks items that are free. */
    take(keys: readonly (string | undefined)[]): Lease {
      const own = new Set(keys.filter((key) => key !== undefined));
      for (const key of own) held.set(key, undefined);
      const release = (key: string) => {
        if (own.delete(key)) held.delete(key);
      };
      return {
        hide: (key, image) => held.set(key, image),
        release,
        end: () => own.forEach(release),
      };
    },
    /** The hidden items of a table, by key. */
    hidden: (table: string): ReadonlyMap<string, BeforeImage> =>
      new Map([...held].flatMap(([key, image]) => (image?.table === table ? [[key, image]] : []))),
  };
}

export type Tokens = ReturnType<typeof createTokens>;

/** The states of the transactions that were sent with a ClientRequestToken. */
export function createTokens() {
  const states = new Map<string, "pending" | "committed">();
  return {
    stateOf: (token: string | undefined) => (token === undefined ? undefined : states.get(token)),
    begin(token: string | undefined): void {
      if (token !== undefined) states.set(token, "pending");
    },
    end(token: string | undefined, isCommitted: boolean): void {
      if (token === undefined) return;
      states.delete(token);
      if (!isCommitted) return;
      states.set(token, "committed");
      const oldest = states.keys().next().value;
      if (states.size > TOKENS_KEPT && oldest !== undefined) states.delete(oldest);
    },
  };
}
