/** Collects the warnings of a sheet from its rows, with a few bytes for each. */

import {
  hasOtherFraction,
  hasZeroFraction,
  isErrorValue,
  looksChanged,
} from "../rules/changed-ids.ts";
import type { SheetRow } from "../rules/sheet.ts";
import type { SheetWarning } from "../rules/sheet-warning.ts";
import { createLostZeros } from "./lost-zeros.ts";
import { manyAccounts } from "./program-users.ts";
import { createWarnedRows, joinedRows, type WarnedRows } from "./warned-rows.ts";

/** The warnings of a sheet. */
interface SheetWarnings {
  /** Adds the next row of the sheet, also one that is wrong in itself. */
  add(row: SheetRow, hasAccount: boolean): void;
  /**
   * The warnings. `readUsers` returns users of the program with accounts, all of few and at least
   * `manyAccounts` of many. It is called only when a row has no account.
   */
  result(readUsers: () => Promise<readonly string[]>): Promise<SheetWarning[]>;
}

export function createSheetWarnings(): SheetWarnings {
  const [changedIds, zeroFractions] = [createWarnedRows(), createWarnedRows()];
  const [withoutAccount, errorReasons, zeros] = [
    createWarnedRows(),
    createWarnedRows(),
    createWarnedRows(),
  ];
  const lostZeros = createLostZeros();
  const sum = createSumRow();
  const usualPoints = createUsualPoints();
  let [hasFractions, hasAllAccounts] = [false, true];
  let userCount = 0;

  return {
    add(row, hasAccount) {
      const { userId, reason } = row;
      if (hasOtherFraction(userId)) hasFractions = true;
      if (!hasAccount) {
        hasAllAccounts = false;
        if (looksChanged(userId)) changedIds.add(row, userId);
        else if (hasZeroFraction(userId)) zeroFractions.add(row, userId);
        if (!row.problems) withoutAccount.add(row);
      }
      if (!row.problems) userCount += 1;
      if (isErrorValue(reason.trim())) errorReasons.add(row, reason.trim());
      if (isZero(row)) zeros.add(row);
      lostZeros.add(row, hasAccount);
      sum.add(row, hasAccount);
      usualPoints.add(row);
    },

    async result(readUsers) {
      const users = hasAllAccounts ? [] : await readUsers();
      const fractions = hasFractions ? [] : [zeroFractions.result()];
      const found: readonly (readonly [SheetWarning["code"], WarnedRows | undefined])[] = [
        ["IDS_CHANGED", joinedRows([changedIds.result(), ...fractions])],
        ["LEADING_ZEROS_LOST", lostZeros.result(users)],
        ["LAST_ROW_IS_SUM", sum.result()],
        [
          "WITHOUT_ACCOUNT",
          users.length < manyAccounts
            ? undefined
            : { ...withoutAccount.result(), detail: String(userCount) },
        ],
        ["FAR_MORE_POINTS", usualPoints.result()],
        ["REASON_ERROR_VALUE", errorReasons.result()],
        ["POINTS_ZERO", zeros.result()],
      ];
      return found.flatMap(([code, rows]) =>
        rows && rows.rowCount > 0 ? [{ code, ...rows }] : [],
      );
    },
  };
}

const wholeNumber = /^\d+$/;

/** The number in the cell, also above what a row may have. */
function numberOf({ points, rawPoints = "" }: SheetRow): number {
  const raw = rawPoints.trim();
  return points === 0 && wholeNumber.test(raw) ? Number(raw) : points;
}

const isZero = ({ points, rawPoints = "" }: SheetRow): boolean =>
  points === 0 && /^0+$/.test(rawPoints.trim());

/** So many rows with points above it can be summed up in the last row by chance rather rarely. */
const leastSummedRows = 5;
/** With a name for a sum instead of a user, so many are enough. */
const leastNamedSummedRows = 2;
const sumName = /^(?:|(?:sub|grand[ _-]?)?total|sum|計|小計|合計|総計|総合計)$/i;

/** Finds a last row that has the sum of all others. Nobody's account is a sum. */
function createSumRow() {
  let [rowCount, sum] = [0, 0];
  let last: SheetRow | undefined;
  let lastHasAccount = false;
  return {
    add(row: SheetRow, hasAccount: boolean): void {
      const points = last ? numberOf(last) : 0;
      if (points > 0) rowCount += 1;
      sum += points;
      last = row;
      lastHasAccount = hasAccount;
    },
    result(): WarnedRows | undefined {
      if (!last || lastHasAccount || numberOf(last) !== sum) return undefined;
      const isNamed = sumName.test(last.userId.trim());
      if (rowCount < (isNamed ? leastNamedSummedRows : leastSummedRows)) return undefined;
      return { rowCount: 1, lines: [last.line], detail: String(sum) };
    },
  };
}

/** The points of rows are compared in a sheet of so many. */
const leastComparedRows = 10;
/** So large a part of the rows has the usual points. */
const usualPart = 0.9;
/** So many times the usual points are far more. */
const farMore = 10;

/** Finds the rows with far more points than nearly all others, which have the same points. */
function createUsualPoints() {
  let points = new Uint32Array(256);
  let lines = new Uint32Array(256);
  let count = 0;

  return {
    add(row: SheetRow): void {
      if (row.points === 0) return;
      if (count === points.length) {
        [points, lines] = [doubled(points), doubled(lines)];
      }
      points[count] = row.points;
      lines[count] = row.line;
      count += 1;
    },

    /** When nearly all rows have the same points, the row in the middle has them. */
    result(): WarnedRows | undefined {
      if (count < leastComparedRows) return undefined;
      const sorted = points.slice(0, count).sort();
      const usual = sorted[count >> 1] as number;
      const usualCount = sorted.lastIndexOf(usual) - sorted.indexOf(usual) + 1;
      if (usualCount < count * usualPart) return undefined;
      const rows = createWarnedRows();
      for (let i = 0; i < count; i++) {
        if ((points[i] as number) >= usual * farMore) rows.add({ line: lines[i] as number });
      }
      return { ...rows.result(), detail: String(usual) };
    },
  };
}

function doubled(values: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(values.length * 2);
  larger.set(values);
  return larger;
}
