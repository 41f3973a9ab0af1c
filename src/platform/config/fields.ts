/** The forms of values. Error messages leave out the value, which may be a secret. */
import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";

export const text = z.string();

/** "0" or "1". */
export const flag = z
  .enum(["0", "1"], { error: "has to be 0 or 1" })
  .transform((value) => value === "1");

export const oneOf = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `has to be one of ${values.join(", ")}` });

/** A list with commas between its elements. */
export const listOf = <T extends z.ZodType<unknown, string>>(element: T) =>
  z
    .string()
    .transform((list) => list.split(",").map((each) => each.trim()))
    .pipe(z.array(element));

export const whole = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  number(/^\d+$/, "a whole number", min, max);

export const decimal = (min: number, max: number) => number(/^\d*\.?\d+$/, "a number", min, max);

function number(form: RegExp, kind: string, min: number, max: number) {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return z
    .string()
    .refine((value) => form.test(value) && Number(value) >= min && Number(value) <= max, {
      error: `has to be ${kind} ${range}`,
    })
    .transform(Number);
}

/** Port 0 means any free port. */
export const port = whole(0, 65_535);

export const webUrl = z
  .string()
  .refine((value) => /^https?:\/\//.test(value) && URL.canParse(value), {
    error: "has to be a URL that begins with http:// or https://",
  });

/** The path of a file that this process can read. */
export const file = z.string().superRefine((path, context) => {
  const message = whyUnreadable(resolve(path));
  if (message !== undefined) context.addIssue({ code: "custom", message });
});

function whyUnreadable(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isDirectory() ? `names a folder, not a file: ${path}` : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return `names a file that is not there: ${path}`;
    return `names a file that cannot be read (${code}): ${path}`;
  }
}
