/** Requests that the store refuses whatever they ask for, such as for want of a right. */
import { DomainError } from "../words/errors.ts";

/** The latest refusal of one operation on the same tables. */
export interface StoreRefusal {
  /** The code of AWS, such as `AccessDeniedException`. */
  readonly code: string;
  readonly operation: string;
  /** The tables by their names without a prefix, with the index: `reservations/by-state`. */
  readonly table: string;
  /** The same as AWS names them. */
  readonly resource: string;
  /** The message of AWS, for logs: it names roles, policies, keys and tables, and no person. */
  readonly text: string;
}

/** The error of such a request. It says nothing of AWS but the code. */
export const storeRefuses = ({ code, operation, table }: StoreRefusal): DomainError =>
  new DomainError("STORE_REFUSES", `the store refuses ${operation} on ${table}: ${code}`, {
    code,
    operation,
    table,
  });
