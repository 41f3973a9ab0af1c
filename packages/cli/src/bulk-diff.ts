/** The command that compares the rows of two revisions of a bulk grant. */
import { BulkGrantService, GetBulkGrantRequestSchema } from "@meguri/client/bulk-grants";
import { answersOf } from "./calls.ts";
import { runs } from "./command.ts";
import { UsageError } from "./errors.ts";
import { write } from "./io.ts";
import { bulkGrant, program, readCount } from "./options.ts";
import type { Cell } from "./output.ts";
import type { Session } from "./session.ts";

export const diff = runs(GetBulkGrantRequestSchema, {
  summary: "compare the rows of two revisions",
  description:
    "Lists the rows that were added, removed or changed from one revision to another. By default " +
    "that is the current one and the one before.",
  takes: [
    bulkGrant,
    ["--from <revision>: the earlier revision", { read: readCount }],
    ["--to <revision>: the later revision", { read: readCount }],
    program,
  ],
  examples: ["meguri bulk diff spring", "meguri bulk diff spring --from 1"],
  async run(session, { programId, bulkGrantId }, values: { from?: number; to?: number }) {
    const { meguri, out, io, call } = session;
    const name = { programId, bulkGrantId };
    const found = await meguri.bulkGrants.getBulkGrant(name, call);
    const to = values.to ?? found.bulkGrant?.revision ?? 0;
    const from = values.from ?? to - 1;
    if (from < 1 || to < 1) throw new UsageError("there is no earlier revision to compare");
    const changes = await compare(session, name, from, to);
    if (out.isJson) for (const change of changes) await out.value(jsonOf(change), "");
    else await write(io.stdout, out.table(changes.map(cellsOf), columns));
    await out.note(summaryOf(changes, from, to));
  },
});

/** The content of a row. */
interface RowContent {
  readonly line: number;
  readonly points: string;
  readonly reason: string;
}

/** A row that one of the revisions has not, or has otherwise. */
interface RowChange {
  readonly userId: string;
  readonly from: RowContent | undefined;
  readonly to: RowContent | undefined;
}

/** Reads both revisions; the changes are in the order of the later one, removed rows come last. */
async function compare(
  session: Session,
  name: { readonly programId: string; readonly bulkGrantId: string },
  from: number,
  to: number,
): Promise<RowChange[]> {
  const earlier = new Map<string, readonly [userId: string, RowContent]>();
  for await (const [key, ...row] of rowsOf(session, { ...name, revision: from })) {
    earlier.set(key, row);
  }
  const changes: RowChange[] = [];
  for await (const [key, userId, after] of rowsOf(session, { ...name, revision: to })) {
    const [, before] = earlier.get(key) ?? [];
    earlier.delete(key);
    const isSame = before?.points === after.points && before.reason === after.reason;
    if (!isSame) changes.push({ userId, from: before, to: after });
  }
  for (const [userId, before] of earlier.values()) {
    changes.push({ userId, from: before, to: undefined });
  }
  return changes;
}

/** The rows of a revision. The key tells apart the rows of a user who is there several times. */
async function* rowsOf(
  session: Session,
  request: { readonly programId: string; readonly bulkGrantId: string; readonly revision: number },
) {
  const counts = new Map<string, number>();
  const { listBulkGrantRows } = BulkGrantService.method;
  for await (const answer of answersOf(session, listBulkGrantRows, request)) {
    for (const { userId, line, points, rawPoints, reason } of answer.rows) {
      const count = (counts.get(userId) ?? 0) + 1;
      counts.set(userId, count);
      const content = { line, points: rawPoints || String(points), reason };
      yield [`${count}#${userId}`, userId, content] as const;
    }
  }
}

const columns = ["change", "user", "points", "new points", "reason", "new reason", "line"];

const cellsOf = (change: RowChange): Cell[] => [
  kindOf(change),
  change.userId,
  change.from?.points,
  change.to?.points,
  change.from?.reason,
  change.to?.reason,
  (change.to ?? change.from)?.line,
];

const kindOf = ({ from, to }: RowChange) =>
  from === undefined ? "added" : to === undefined ? "removed" : "changed";

const jsonOf = (change: RowChange) => ({ change: kindOf(change), ...change });

function summaryOf(changes: readonly RowChange[], from: number, to: number): string {
  const count = (kind: string) => changes.filter((change) => kindOf(change) === kind).length;
  const counts = ["added", "removed", "changed"].map((kind) => `${count(kind)} ${kind}`);
  return `from revision ${from} to ${to}: ${counts.join(", ")}`;
}
