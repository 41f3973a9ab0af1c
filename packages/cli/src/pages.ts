/** Reads lists of the API page by page. */

/** A page and the token of the next one, which is empty on the last page. */
type Page<T> = readonly [records: readonly T[], nextPageToken: string];

/** The fields of a request that name a page. */
interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** Yields the pages of a list, each of up to 200 records. */
export async function* pagesOf<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
): AsyncGenerator<readonly T[]> {
  let pageToken = "";
  do {
    const [records, next] = await read({ pageSize: 200, pageToken });
    yield records;
    pageToken = next;
  } while (pageToken !== "");
}

/** Yields each record of a stream as a page of its own, so that it is printed at once. */
export async function* singly<T>(records: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  for await (const record of records) yield [record];
}
