/** Signs in to Google's APIs as a service account, and repeats the calls that may be repeated. */
import { readFileSync } from "node:fs";
import type { auth } from "@googleapis/drive";
import { z } from "zod";

const googleTokenUrl = "https://oauth2.googleapis.com/token";

/** The needed fields of the key file that the Google Cloud console makes for a service account. */
const serviceAccountKey = z.object({
  type: z.literal("service_account"),
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  token_uri: z.url().default(googleTokenUrl),
});

const googleError = z.object({ error: z.object({ message: z.string() }) });

type ServiceAccountKey = z.output<typeof serviceAccountKey>;

/** Reads and writes the files and spreadsheets that are shared with the service account. */
const scopes = ["https://www.googleapis.com/auth/drive"];

/** The longest time for one answer, in ms, after which the call may be tried again. */
const timeoutMs = 30_000;
const maxRetries = 3;
const maxRetryDelayMs = 10_000;

/**
 * The class of service accounts. It comes with the library of each API, which is loaded at the
 * first call: it takes about 65 MB, which a worker without Google's sources does not need.
 */
type ServiceAccountClass = typeof auth.JWT;

/**
 * Signs in with a key. The account's calls have a timeout and are retried. It fetches a token at
 * its first call, and again before that one expires.
 */
export function signIn(
  ServiceAccount: ServiceAccountClass,
  key: ServiceAccountKey,
): InstanceType<ServiceAccountClass> {
  return new ServiceAccount({
    email: key.client_email,
    key: key.private_key,
    scopes,
    transporterOptions: {
      timeout: timeoutMs,
      retryConfig: { retry: maxRetries, maxRetryDelay: maxRetryDelayMs, shouldRetry },
      // The library always fetches tokens from Google, whatever token_uri the key file names.
      adapter: (options, send) =>
        send(
          options.url.href === googleTokenUrl
            ? { ...options, url: new URL(key.token_uri) }
            : options,
        ),
    },
  });
}

/**
 * Reads the key file of a service account. Throws an error that names the file when it is missing
 * or is no key of a service account.
 */
export function readServiceAccountKey(keyFile: string): ServiceAccountKey {
  try {
    return serviceAccountKey.parse(JSON.parse(readFileSync(keyFile, "utf8")));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : "it is not readable JSON";
    throw new Error(`key file ${keyFile}: ${why}`);
  }
}

/** The parts of a failed call that decide about a retry, as Google's HTTP library has them. */
interface FailedCall {
  readonly message: string;
  readonly status?: number | undefined;
  readonly response?: { readonly data?: unknown } | undefined;
  readonly config: {
    readonly method?: string;
    readonly retryConfig?: {
      readonly currentRetryAttempt?: number;
      readonly httpMethodsToRetry?: readonly string[];
    };
  };
}

/**
 * A call that Google has rejected for its rate is tried again in any case. One that failed in
 * another way may have been executed, so only methods that may be repeated are.
 */
function shouldRetry(error: FailedCall): boolean {
  const { method = "GET", retryConfig = {} } = error.config;
  if ((retryConfig.currentRetryAttempt ?? 0) >= maxRetries) return false;
  if (isRateLimited(error)) return true;
  const isTransient = error.status === undefined || error.status === 408 || error.status >= 500;
  return isTransient && (retryConfig.httpMethodsToRetry ?? []).includes(method.toUpperCase());
}

/** Drive says so with 403 and a reason, too, which a failed download has in its message only. */
function isRateLimited({ status, message, response }: FailedCall): boolean {
  if (status === 429) return true;
  const text = JSON.stringify([message, response?.data]);
  return status === 403 && /[rR]ateLimitExceeded/.test(text);
}

/** The HTTP status of a failed call; undefined when it had no answer. */
export const statusOf = (error: unknown): number | undefined =>
  error instanceof Error && "status" in error && typeof error.status === "number"
    ? error.status
    : undefined;

/**
 * Waits for a call to Google. Its error has the message and status only, because the library's own
 * error carries the whole request, which is not for logs. The status of a call that was rejected
 * for its rate is always 429, so that nobody takes it for a missing right.
 */
export async function answerOf<T>(call: Promise<{ readonly data: T }>): Promise<T> {
  try {
    return (await call).data;
  } catch (error) {
    const status = isRateLimited(error as FailedCall) ? 429 : statusOf(error);
    const message = error instanceof Error ? messageIn(error.message) : String(error);
    throw Object.assign(new Error(`Google: ${message}`), { status });
  }
}

/** The message of an error; the library leaves that of a failed download in Google's JSON. */
function messageIn(text: string): string {
  try {
    return googleError.parse(JSON.parse(text)).error.message;
  } catch {
    return text;
  }
}
