/** The name of a thing that a user owns: what reactions, permissions and throttles are about. */

export interface TargetName {
  readonly type: string;
  readonly id: string;
}
