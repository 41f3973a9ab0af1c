/** Checks the rows of a bulk grant one by one, from a sheet and from messages alike. */
import { hasControls } from "../../domain/controls.ts";
import { cutToBytes } from "../../domain/display-text.ts";
import { maxPoints } from "../../domain/points.ts";
import type { RowProblem, SheetRow } from "../../domain/sheet.ts";
import { foundText } from "./found-text.ts";
import { createSeenUsers } from "./seen-users.ts";

/** A row as it came, before any check. Undefined in a sheet without this column. */
export interface RowCells {
  readonly userId: string | undefined;
  readonly points: string | undefined;
  readonly reason: string;
}

/** The form of ids that callers choose, such as user ids: visible ASCII characters without `#`. */
export const idForm = /^[!-"$-~]{1,64}$/;
const wholeNumber = /^[0-9]+$/;
const maxReasonBytes = 128;
/** Malformed values are kept up to this many bytes. */
const maxMalformedBytes = 256;

/**
 * Returns a function that makes the row of a line from its cells, with the first problem that it
 * has: `found`, or else one of the user, the points and the reason, in this order. It remembers the
 * users of all rows to find a user that is in the sheet twice.
 */
export function createRowCheck(maxPointsPerRow: number) {
  const cap = Math.min(maxPoints, maxPointsPerRow);
  const seenUsers = createSeenUsers();

  function userProblem(userId: string | undefined, line: number): RowProblem | undefined {
    if (userId === undefined) return undefined;
    if (userId.trim() === "") return { code: "USER_MISSING" };
    if (!idForm.test(userId)) return { code: "USER_MALFORMED", detail: foundText(userId) };
    const firstLine = seenUsers.firstLine(userId, line);
    return firstLine === undefined ? undefined : { code: "USER_TWICE", detail: String(firstLine) };
  }

  function pointsProblem(points: string | undefined): RowProblem | undefined {
    if (points === undefined) return undefined;
    const text = points.trim();
    if (text === "") return { code: "POINTS_MISSING" };
    if (!wholeNumber.test(text) || Number(text) === 0) {
      return { code: "POINTS_MALFORMED", detail: foundText(text) };
    }
    if (Number(text) > cap) return { code: "POINTS_ABOVE_CAP", detail: String(cap) };
    return undefined;
  }

  return (line: number, cells: RowCells, found?: RowProblem): SheetRow => {
    const { userId = "", points: rawPoints = "", reason } = cells;
    const problem =
      found ??
      userProblem(cells.userId, line) ??
      pointsProblem(cells.points) ??
      reasonProblem(reason);
    const points = pointsOf(rawPoints);
    if (!problem) return { line, userId, points, reason };
    return {
      line,
      userId: cutToBytes(userId, maxMalformedBytes),
      points,
      reason: cutToBytes(reason, maxMalformedBytes),
      ...(points === 0 && { rawPoints: cutToBytes(rawPoints, maxMalformedBytes) }),
      problem,
    };
  };
}

/** Returns 0 for what is not a number of points. */
function pointsOf(text: string): number {
  const points = wholeNumber.test(text.trim()) ? Number(text) : 0;
  return points <= maxPoints ? points : 0;
}

function reasonProblem(reason: string): RowProblem | undefined {
  const isTooLong = reason.length > maxReasonBytes || Buffer.byteLength(reason) > maxReasonBytes;
  if (isTooLong) return { code: "REASON_TOO_LONG" };
  return hasControls(reason) ? { code: "REASON_MALFORMED", detail: foundText(reason) } : undefined;
}
