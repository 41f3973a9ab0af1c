/** The members of unread groups that the calls of one queue have read. */
import type { MembersQuery } from "../../app/ports/engine.ts";
import { inBatches } from "../../app/ports/pages.ts";
import { type Ref, reactionRef } from "../../app/ports/records.ts";
import type { Reaction } from "../../domain/target.ts";
import type { Members } from "../../domain/unread-group.ts";
import { type GroupMembers, queryName } from "./batch.ts";
import { distinct, nameOf } from "./item-store.ts";
import type { RecordCache } from "./record-cache.ts";

/** A busy queue forgets the results of earlier calls when it has so many. */
const maxKnown = 1_000;

interface MemberReadsDeps {
  readonly records: RecordCache;
  /** How many records `readAtomically` reads at most. */
  readonly maxItems: number;
  readonly query: (query: MembersQuery) => Promise<Members>;
  /** Reads records at one moment into `records`; false when transactions keep writing them. */
  readonly readAtomically: (refs: readonly Ref[]) => Promise<boolean>;
}

/** A query and what it has returned. */
interface QueryResult {
  readonly query: MembersQuery;
  readonly found: Members;
}

/**
 * Reads members, and keeps the results across version conflicts: the key of a query names the state
 * of the group for which its result is valid, so that a result which took a second is not lost when
 * somebody joins meanwhile.
 */
export class MemberReads {
  readonly #deps: MemberReadsDeps;
  readonly #known = new Map<string, Members>();

  constructor(deps: MemberReadsDeps) {
    this.#deps = deps;
  }

  get known(): GroupMembers {
    return this.#known;
  }

  clear(): void {
    this.#known.clear();
  }

  /** Sends these queries side by side. False when a group could not be read at one moment. */
  async read(queries: readonly MembersQuery[]): Promise<boolean> {
    if (this.#known.size > maxKnown) this.clear();
    const different = new Map(queries.map((query) => [queryName(query), query]));
    const results = await Promise.all(
      [...different.values()].map(async (query) => ({
        query,
        found: await this.#deps.query(query),
      })),
    );
    const counted = results.filter(hasRightCount);
    const isExact = ({ query }: QueryResult) => !query.range.hasLeavers;
    for (const result of counted) if (isExact(result)) this.#keep(result);
    const isRead = await this.#validate(counted.filter((result) => !isExact(result)));
    return isRead && counted.length === results.length;
  }

  #keep({ query, found }: QueryResult): void {
    this.#known.set(queryName(query), found);
  }

  /**
   * Keeps the results without rows of members who have left. A query may return a row that a
   * running transaction has still to delete, while the group has been written already. So the rows
   * are read again by TransactGetItems, and have to be unchanged (docs/decisions/0020). Without the
   * groups, which every like writes. False when transactions are in the way.
   */
  async #validate(results: readonly QueryResult[]): Promise<boolean> {
    const { maxItems, readAtomically } = this.#deps;
    const all = results.map((result) => ({ result, refs: rowsOf(result.found).map(rowOf) }));
    // Two queries for different ranges of one group may have found the same row.
    const batches = inBatches(distinct(all.flatMap(({ refs }) => refs)), maxItems);
    const answers = await Promise.all(batches.map((refs) => readAtomically(refs)));
    const read = new Set(batches.flatMap((refs, i) => (answers[i] ? refs.map(nameOf) : [])));
    let isRead = answers.every((answer) => answer);
    for (const { result, refs } of all) {
      if (!refs.every((ref) => read.has(nameOf(ref)))) continue;
      if (this.#isUnchanged(result)) this.#keep(result);
      else isRead = false;
    }
    return isRead;
  }

  #isUnchanged({ found }: QueryResult): boolean {
    return rowsOf(found).every((member) => {
      const row = this.#deps.records.get(rowOf(member));
      return row && "version" in row && row.version === member.version;
    });
  }
}

/**
 * Whether a query has found as many members as the group counts: a row that a running transaction
 * has still to write is missing, and one that it has still to delete is too many.
 */
function hasRightCount({ query: { range }, found }: QueryResult): boolean {
  if (range.read === "recent") return found.count === range.count;
  if (range.read === "ends" || found.restCount === undefined) return true;
  return found.count + found.restCount === range.total;
}

/** The rows of a result, each once. */
const rowsOf = ({ first, latest }: Members): Reaction[] => [
  ...new Map([...first, ...latest].map((row) => [row.version, row])).values(),
];

const rowOf = ({ target, kind, userId }: Reaction): Ref<"reaction"> =>
  reactionRef(target, kind, userId);
