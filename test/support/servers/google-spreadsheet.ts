/** One spreadsheet of Sheets v4 on loopback: its tabs, their values, and changes of tabs. */
import { GoogleError, type GoogleRequest } from "./google-wire.ts";

/** A cell: a text, a truth value, a number, or a number with the text that the tab shows. */
export type Cell = string | boolean | number | { readonly value: number; readonly shown: string };

interface Tab {
  readonly sheetId: number;
  readonly title: string;
  rowCount: number;
  columnCount: number;
  rows: Cell[][];
  isHidden?: boolean;
  /** Whether it shows a chart and has no cells. */
  readonly isChart?: boolean;
}

/** The state of the spreadsheet, which tests set up and read. */
export interface GoogleSpreadsheet {
  /** Adds a tab with these rows, in a grid of 1,000 rows and 26 columns or as large as needed. */
  addTab(title: string, rows: readonly (readonly Cell[])[]): void;
  /** Adds a tab that shows a chart, before the others. */
  addChart(title: string): void;
  hide(title: string): void;
  /** Makes a tab the first one. */
  moveFirst(title: string): void;
  /** Sets the rows of a tab, as a person does. */
  setRows(title: string, rows: readonly (readonly Cell[])[]): void;
  /** The service account may not read it any more, or it may again. */
  share(isShared: boolean): void;
  /** The cells of a tab; undefined when there is no such tab. */
  rowsOf(title: string): readonly (readonly Cell[])[] | undefined;
  readonly titles: readonly string[];
  /** The JSON that answers a request. */
  answer(request: GoogleRequest): object;
}

export function createSpreadsheet(): GoogleSpreadsheet {
  const tabs: Tab[] = [];
  let isShared = true;
  let nextSheetId = 0;
  const addTab = (title: string, rowCount: number, columnCount: number, rows: Cell[][]): Tab => {
    if (tabs.some((tab) => tab.title.toLowerCase() === title.toLowerCase())) {
      throw new GoogleError(400, `A sheet with the name "${title}" already exists.`);
    }
    const tab = { sheetId: nextSheetId++, title, rowCount, columnCount, rows };
    tabs.push(tab);
    return tab;
  };
  const tabNamed = (title: string): Tab => {
    const found = tabs.find((tab) => tab.title === title);
    if (!found) throw new Error(`there is no tab ${title}`);
    return found;
  };
  const answerValues = (method: string, range: string, { query, body }: GoogleRequest) => {
    const found = rangeIn(tabs, range);
    if (method === "GET") return { range, values: valuesOf(found, query) };
    if (query.get("valueInputOption") !== "RAW") throw new GoogleError(400, "would run formulas");
    const { values } = body as { values: Cell[][] };
    for (const [i, row] of values.entries()) found.tab.rows[found.firstRow - 1 + i] = row;
    return { updatedRows: values.length };
  };
  return {
    addTab(title, rows) {
      const columns = rows.reduce((most, { length }) => Math.max(most, length), 26);
      const copy = rows.map((row) => [...row]);
      addTab(title, Math.max(1_000, rows.length), columns, copy);
    },
    addChart(title) {
      tabs.unshift({ ...addTab(title, 0, 0, []), isChart: true });
      tabs.pop();
    },
    hide(title) {
      tabNamed(title).isHidden = true;
    },
    moveFirst(title) {
      const tab = tabNamed(title);
      tabs.splice(tabs.indexOf(tab), 1);
      tabs.unshift(tab);
    },
    setRows(title, rows) {
      tabNamed(title).rows = rows.map((row) => [...row]);
    },
    share(is) {
      isShared = is;
    },
    rowsOf: (title) => tabs.find((tab) => tab.title === title)?.rows,
    get titles() {
      return tabs.map(({ title }) => title);
    },
    answer(request) {
      const { method, path, body } = request;
      const [name = "", values, range = ""] = path.split("/").slice(3);
      const [, verb] = decodeURIComponent(name).split(":");
      if (!isShared) throw new GoogleError(403, "The caller does not have permission");
      if (values === "values") return answerValues(method, decodeURIComponent(range), request);
      if (method === "POST" && verb === "batchUpdate") {
        const { requests } = body as { requests: TabRequest[] };
        return { replies: requests.map((one) => change(tabs, one, addTab)) };
      }
      return { sheets: tabs.map((tab) => ({ properties: propertiesOf(tab) })) };
    },
  };
}

const propertiesOf = ({ sheetId, title, rowCount, columnCount, isHidden, isChart }: Tab) => ({
  // Google leaves out a 0.
  ...(sheetId !== 0 && { sheetId }),
  title,
  ...(isHidden && { hidden: true }),
  sheetType: isChart ? "OBJECT" : "GRID",
  ...(!isChart && { gridProperties: { rowCount, columnCount } }),
});

interface Properties {
  readonly sheetId?: number;
  readonly title: string;
  readonly gridProperties: { readonly rowCount: number; readonly columnCount: number };
}

interface TabRequest {
  readonly addSheet?: { readonly properties: Properties };
  readonly deleteSheet?: { readonly sheetId: number };
  readonly updateSheetProperties?: { readonly properties: Properties; readonly fields: string };
}

type AddTab = (title: string, rowCount: number, columnCount: number, rows: Cell[][]) => Tab;

function change(tabs: Tab[], request: TabRequest, addTab: AddTab): object {
  const { addSheet, deleteSheet, updateSheetProperties: update } = request;
  if (addSheet) {
    const { title, gridProperties } = addSheet.properties;
    const tab = addTab(title, gridProperties.rowCount, gridProperties.columnCount, []);
    return { addSheet: { properties: propertiesOf(tab) } };
  }
  const sheetId = deleteSheet ? deleteSheet.sheetId : (update?.properties.sheetId ?? 0);
  const index = tabs.findIndex((tab) => tab.sheetId === sheetId);
  const tab = tabs[index];
  if (!tab) throw new GoogleError(400, `No grid with id: ${sheetId}`);
  if (deleteSheet) tabs.splice(index, 1);
  else if (update?.fields === "gridProperties.rowCount,gridProperties.columnCount") {
    Object.assign(tab, update.properties.gridProperties);
    tab.rows = tab.rows.slice(0, tab.rowCount);
  } else throw new GoogleError(400, "unknown request");
  return {};
}

interface Range {
  readonly tab: Tab;
  readonly firstRow: number;
  readonly lastRow: number;
  readonly columns: number;
}

/** Reads a range in R1C1 notation, which must lie in the grid. */
function rangeIn(tabs: readonly Tab[], range: string): Range {
  const [, title = "", first, last, columns] =
    /^'((?:[^']|'')*)'!R(\d+)C1:R(\d+)C(\d+)$/.exec(range) ?? [];
  const tab = tabs.find((one) => one.title === title.replaceAll("''", "'"));
  if (!tab) throw new GoogleError(400, `Unable to parse range: ${range}`);
  const found = { tab, firstRow: Number(first), lastRow: Number(last), columns: Number(columns) };
  if (found.lastRow > tab.rowCount || found.columns > tab.columnCount) {
    throw new GoogleError(400, `Range (${range}) exceeds grid limits.`);
  }
  return found;
}

/** The values as Google answers them: without the empty cells and rows at the end. */
function valuesOf({ tab, firstRow, lastRow, columns }: Range, query: URLSearchParams) {
  const isShown = query.get("valueRenderOption") !== "UNFORMATTED_VALUE";
  const textOf = (cell: Cell) => {
    if (typeof cell === "object") return isShown ? cell.shown : cell.value;
    return isShown ? String(cell) : cell;
  };
  const isEmpty = (row: readonly unknown[]) => row.length === 0;
  const rows = tab.rows.slice(firstRow - 1, lastRow).map((row) => {
    const cells = row.slice(0, columns).map(textOf);
    return cells.slice(0, cells.findLastIndex((cell) => cell !== "") + 1);
  });
  const values = rows.slice(0, rows.findLastIndex((row) => !isEmpty(row)) + 1);
  return values.length > 0 ? values : undefined;
}
