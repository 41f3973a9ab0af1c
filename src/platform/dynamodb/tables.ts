/** The names of tables and indexes, which deploy/tables.yaml defines. */

/** The names of the tables without their prefix. */
export const tables = [
  "accounts",
  "points",
  "reservations",
  "bulk",
  "reactions",
  "notifications",
  "acts",
  "events",
] as const;

export type Table = (typeof tables)[number];

export const expiryIndex = "expiry";
export const byUserIndex = "by-user";
export const byStateIndex = "by-state";
export const byTimeIndex = "by-time";
export const activeIndex = "active";
export const byVersionIndex = "by-n";
export const byPersonIndex = "by-person";
export const byLastIndex = "by-last";
export const bySubjectIndex = "by-subject";
/** All that is of a person, in several tables. Only a test queries it yet. */
export const ofPersonIndex = "of-person";

/** Returns the name of a table with the prefix of its environment. */
export type TableName = (table: Table) => string;

export const tableName =
  (prefix: string): TableName =>
  (table) =>
    `${prefix}${table}`;
