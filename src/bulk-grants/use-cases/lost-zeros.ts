/** Finds user ids of digits that have lost leading zeros. */

import type { SheetRow } from "../rules/sheet.ts";
import { createWarnedRows, joinedRows, type WarnedRows } from "./warned-rows.ts";

const digits = /^\d+$/;
const withZeros = /^0+[1-9]\d*$/;
const mobileWithoutZero = /^[789]0\d{8}$/;

/** Phone numbers of Japan are recognised in a sheet of so many rows. */
const leastPhones = 10;
/** So large a part of all rows are phone numbers without their zero, mobile or not. */
const phonePart = 0.9;
/** So large a part are those of mobile phones, which have a form of their own. */
const mobilePart = 0.5;
/** The digits of a phone number without its zero: 10 of a mobile phone, 9 of any other one. */
const phoneLengths = [9, 10];

/** Part of the users of a program whose ids have to begin with a zero before it proves anything. */
const provingPart = 0.05;

/** The lengths that ids with leading zeros have without them and with them. */
interface ZeroLengths {
  readonly shortest: number;
  readonly longest: number;
}

/**
 * Collects ids of digits. Those without an account that do not begin with a zero have lost it when
 * ids that do, of other rows or of users of the program, would be as long as they are without their
 * zeros. When a sheet has no such rows, nearly all of its ids may be phone numbers of Japan.
 */
export function createLostZeros() {
  const byLength = new Map<number, ReturnType<typeof createWarnedRows>>();
  let lengths: ZeroLengths | undefined;
  let [rowCount, mobileCount] = [0, 0];

  const isPhones = (): boolean => {
    const phoneCount = phoneLengths.reduce((sum, length) => sum + countOf(length), 0);
    return (
      rowCount >= leastPhones &&
      mobileCount >= rowCount * mobilePart &&
      phoneCount >= rowCount * phonePart
    );
  };
  const countOf = (length: number): number => byLength.get(length)?.result().rowCount ?? 0;

  return {
    add(row: SheetRow, hasAccount: boolean): void {
      const { userId } = row;
      rowCount += 1;
      if (!digits.test(userId)) return;
      if (withZeros.test(userId)) lengths = widened(lengths, userId);
      else if (!hasAccount && !userId.startsWith("0")) {
        if (mobileWithoutZero.test(userId)) mobileCount += 1;
        const rows = byLength.get(userId.length) ?? createWarnedRows();
        byLength.set(userId.length, rows);
        rows.add(row, userId);
      }
    },

    result(users: readonly string[]): WarnedRows {
      const zeros = [lengths, lengthsOf(users)];
      const isPhone = isPhones();
      const isLost = (length: number): boolean =>
        (isPhone && phoneLengths.includes(length)) ||
        zeros.some((each) => each && length >= each.shortest && length < each.longest);
      const lost = [...byLength].filter(([length]) => isLost(length));
      return joinedRows(lost.map(([, rows]) => rows.result()));
    },
  };
}

/** The lengths of the ids of users that begin with zeros; undefined when only few of digits do. */
function lengthsOf(users: readonly string[]): ZeroLengths | undefined {
  const ofDigits = users.filter((userId) => digits.test(userId));
  const leading = ofDigits.filter((userId) => withZeros.test(userId));
  if (leading.length < ofDigits.length * provingPart) return undefined;
  return leading.reduce<ZeroLengths | undefined>(widened, undefined);
}

function widened(lengths: ZeroLengths | undefined, userId: string): ZeroLengths {
  const shortest = userId.replace(/^0+/, "").length;
  return {
    shortest: Math.min(lengths?.shortest ?? shortest, shortest),
    longest: Math.max(lengths?.longest ?? 0, userId.length),
  };
}
