/** The rows of the sheets and messages in campaigns, and what is wrong with them by the design. */
import { parse } from "csv-parse/sync";

/** A row as it was sent. */
export interface RawRow {
  readonly userId: string;
  readonly points: string;
  readonly reason: string;
  /** What its column bulk_grant_id says. */
  readonly campaign?: string | undefined;
}

/** A row as people see it, with the codes of what is wrong with it by itself. */
export interface Row extends RawRow {
  readonly codes: readonly string[];
}

/** Checks the rows of a campaign, of which none may have more points than `cap`. */
export function checkedRows(raws: readonly RawRow[], name: string, cap: number): Row[] {
  const users = new Set<string>();
  return raws.map(({ userId, points, reason, campaign = "" }) => {
    const codes: string[] = [];
    if (campaign !== "" && campaign !== name) codes.push("OTHER_BULK_GRANT");
    if (userId === "") codes.push("USER_MISSING");
    else if (userId.includes("#")) codes.push("USER_MALFORMED");
    else if (users.has(userId)) codes.push("USER_TWICE");
    if (points === "") codes.push("POINTS_MISSING");
    else if (/^0+$/.test(points)) codes.push("POINTS_ZERO");
    else if (!/^[1-9]\d*$/.test(points)) codes.push("POINTS_MALFORMED");
    else if (Number(points) > cap) codes.push("POINTS_ABOVE_CAP");
    if (reason.length > 128) codes.push("REASON_TOO_LONG");
    users.add(userId);
    return { userId, points, reason, codes };
  });
}

/** A file that people have dropped. */
export interface SheetFile {
  readonly source: string;
  readonly path: string;
  readonly version: string;
  readonly text: string;
}

/** The campaign of a file: that of its column, or of its name, or of its name and content. */
export function nameOf({ source, path, version, text }: SheetFile): string {
  const named = rowsOf(text)?.[0]?.campaign?.trim();
  const name = path.replace(/\.csv$/, "");
  return named || (source === "night" ? `${name}-${version}` : name);
}

/** The rows of a sheet; undefined for one that cannot be read. */
export function rowsOf(text: string): RawRow[] | undefined {
  type Cells = Readonly<Record<string, string | undefined>>;
  const rows: Cells[] = parse(text, { bom: true, columns: true, relax_column_count: true });
  if (!rows[0] || !("user_id" in rows[0])) return undefined;
  return rows.map(({ user_id = "", points = "", reason = "", bulk_grant_id: campaign }) => ({
    ...{ userId: user_id, points, reason, campaign },
  }));
}

/** Two submissions with the same key have the same content. */
export const keyOf = (rows: readonly Row[], ...terms: readonly unknown[]): string =>
  JSON.stringify([
    rows.map(({ userId, points, reason, codes }) => [userId, points, reason, ...codes]),
    ...terms,
  ]);

/** The points of the rows that are right. */
export const totalOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, { codes, points }) => sum + (codes.length > 0 ? 0 : Number(points)), 0);
