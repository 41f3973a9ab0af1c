/** Checks the rows of a bulk grant one by one, from a sheet and from messages alike. */

import { hasControls } from "../../platform/words/controls.ts";
import { cutToBytes, maxReasonBytes } from "../../platform/words/display-text.ts";
import { isMonth } from "../../platform/words/month.ts";
import { maxPoints } from "../../platform/words/units.ts";
import { createUserIdMatch } from "../../points/rules/user-id-pattern.ts";
import type { RowProblem, SheetRow } from "../rules/sheet.ts";
import { foundText } from "./found-text.ts";
import { createSeenTexts } from "./seen-texts.ts";

/** A row as it came, before any check. A cell that the line does not have is undefined. */
export interface RowCells {
  readonly userId: string | undefined;
  readonly points: string | undefined;
  readonly reason: string | undefined;
  readonly expireMonth: string | undefined;
}

/** The rules of a program by which rows are checked. */
export interface RowRules {
  readonly maxPointsPerRow: number;
  /** "" for no pattern. */
  readonly userIdPattern: string;
}

/** The form of a user's id: visible ASCII characters without `#`. */
export const userIdForm = /^[!-"$-~]{1,128}$/;
const wholeNumber = /^[0-9]+$/;
/** Private characters mean what two parties agree on, so a ledger cannot keep them. */
const privateUse = /\p{Co}/u;
/** Malformed values are kept up to this many bytes. */
const maxMalformedBytes = 256;
/** Less, because a block of rows of the longest values is near the limit of an item. */
const maxMonthBytes = 16;
/** So that the id and its message are no longer than those of an id of any other form. */
const maxPatternBytes = 200;
/** Enough for a date, and the last bytes that the largest item has for a row. */
const maxFoundMonthBytes = 12;

/**
 * Returns a function that makes the row of a line from its cells, with all problems that it has:
 * those that were `found` before, and those of the user, the points, the reason and the month. The
 * row has the `kept` cells, of which those of a broken line are not checked. It remembers the users
 * of all rows to find a user that is in the sheet twice.
 */
export function createRowCheck({ maxPointsPerRow, userIdPattern }: RowRules) {
  const cap = Math.min(maxPoints, maxPointsPerRow);
  const seenUsers = createSeenTexts();
  const matches = userIdPattern === "" ? () => true : createUserIdMatch(userIdPattern);

  function userProblems(userId: string | undefined, line: number): RowProblem[] {
    if (userId === undefined) return [];
    if (userId.trim() === "") return [{ code: "USER_MISSING" }];
    if (!userIdForm.test(userId)) return [{ code: "USER_MALFORMED", detail: foundText(userId) }];
    if (!matches(userId)) {
      const pattern = cutToBytes(userIdPattern, maxPatternBytes);
      const detail = `${foundText(userId)}, and the program demands ${pattern}`;
      return [{ code: "USER_MALFORMED", detail }];
    }
    const firstLine = seenUsers.firstNumber(userId, line);
    return firstLine === undefined ? [] : [{ code: "USER_TWICE", detail: String(firstLine) }];
  }

  function pointsProblems(points: string | undefined): RowProblem[] {
    if (points === undefined) return [];
    const text = points.trim();
    if (text === "") return [{ code: "POINTS_MISSING" }];
    if (!wholeNumber.test(text)) {
      return [{ code: "POINTS_MALFORMED", detail: foundText(text) }];
    }
    if (Number(text) === 0) return [{ code: "POINTS_ZERO" }];
    return Number(text) > cap ? [{ code: "POINTS_ABOVE_CAP", detail: String(cap) }] : [];
  }

  return (
    line: number,
    cells: RowCells,
    found: readonly RowProblem[] = [],
    kept = cells,
  ): SheetRow => {
    const { userId = "", points: rawPoints = "", reason = "" } = kept;
    const expireMonth = kept.expireMonth?.trim() ?? "";
    const problems = [
      ...found,
      ...userProblems(cells.userId, line),
      ...pointsProblems(cells.points),
      ...reasonProblems(cells.reason ?? ""),
      ...monthProblems(cells.expireMonth?.trim() ?? ""),
    ];
    const points = pointsOf(rawPoints);
    if (problems.length === 0) {
      return { line, userId, points, reason, expireMonth: expireMonth || undefined };
    }
    return {
      line,
      userId: cutToBytes(userId, maxMalformedBytes),
      points,
      reason: cutToBytes(reason, maxMalformedBytes),
      expireMonth: cutToBytes(expireMonth, maxMonthBytes).trim() || undefined,
      rawPoints: points === 0 ? cutToBytes(rawPoints, maxMalformedBytes) : undefined,
      problems,
    };
  };
}

/** Whether a cell of points is zero. */
export const isZero = (points: string | undefined): boolean => /^\s*0+\s*$/.test(points ?? "");

/** Returns 0 for what is not a number of points. */
function pointsOf(text: string): number {
  const points = wholeNumber.test(text.trim()) ? Number(text) : 0;
  return points <= maxPoints ? points : 0;
}

function monthProblems(month: string): RowProblem[] {
  if (month === "" || isMonth(month)) return [];
  return [{ code: "MONTH_MALFORMED", detail: cutToBytes(month, maxFoundMonthBytes) }];
}

function reasonProblems(reason: string): RowProblem[] {
  const problems: RowProblem[] = [];
  const bytes = Buffer.byteLength(reason);
  if (bytes > maxReasonBytes) problems.push({ code: "REASON_TOO_LONG", detail: String(bytes) });
  if (hasControls(reason) || privateUse.test(reason)) {
    problems.push({ code: "REASON_MALFORMED", detail: foundText(reason) });
  }
  return problems;
}
