/** How the state of the log changes with what is appended to it. */
import type { ShardPosition, ShardPositions, StreamedTable } from "../ports/changes.ts";
import type { LogState, OpenGap } from "../ports/log.ts";

/** A stream lists its shards for a day. The positions of those that have ended go a day later. */
const endedMs = 48 * 3_600_000;

const filtered = (
  positions: ShardPositions,
  isKept: (position: ShardPosition) => boolean,
): ShardPositions =>
  Object.fromEntries(Object.entries(positions).filter(([, position]) => isKept(position)));

/**
 * One shard has been read up to a position. Of a shard that has ended, nobody asks for the last
 * record again; each batch holds twelve of them for each shard that is open.
 */
export function withPosition(state: LogState, shard: string, reached: ShardPosition): LogState {
  const { sequence: _, ...withoutSequence } = reached;
  const position = reached.ended ? withoutSequence : reached;
  const isGone = ({ table, ended, time }: ShardPosition) =>
    table === position.table && ended === true && time < position.time - endedMs;
  const moved = { ...state.positions, [shard]: position };
  const isAnyGone = Object.values(moved).some(isGone);
  return { ...state, positions: isAnyGone ? filtered(moved, (each) => !isGone(each)) : moved };
}

/** A gap is open: the table is read from these positions on when it is closed. */
export const withGap = (state: LogState, gap: OpenGap, positions: ShardPositions): LogState => ({
  positions: { ...filtered(state.positions, ({ table }) => table !== gap.table), ...positions },
  gaps: [...withoutGap(state, gap.table).gaps, gap],
});

/** More of an open gap has been sent. */
export const withProgress = (state: LogState, gap: OpenGap): LogState => ({
  ...state,
  gaps: state.gaps.map((each) => (each.table === gap.table ? gap : each)),
});

/** The gap of a table is closed. */
export const withoutGap = (state: LogState, closed: StreamedTable): LogState => ({
  ...state,
  gaps: state.gaps.filter(({ table }) => table !== closed),
});
