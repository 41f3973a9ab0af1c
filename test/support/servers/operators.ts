/** Reads the pages of an operators' port. */

/** The status and the text of a page. */
export async function readPage(
  port: number,
  path: string,
  method = "GET",
): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  return { status: response.status, text: await response.text() };
}
