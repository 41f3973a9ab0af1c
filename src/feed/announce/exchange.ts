/** Publishes announcements and subscribes to them in rounds, and goes on after a reconnect. */
import { setTimeout as sleep } from "node:timers/promises";
import type { AnnouncementListener } from "../ports/announcements.ts";
import type { Connection, Message } from "./connection.ts";
import { Outbox } from "./outbox.ts";
import { Subscriptions } from "./subscriptions.ts";

/**
 * The shortest time between the beginnings of two rounds. Announcements wait meanwhile for the next
 * round, so that many commits of one owner are one announcement.
 */
const periodMs = 20;

export class Exchange {
  readonly #outbox = new Outbox();
  readonly #subscriptions = new Subscriptions();
  readonly #channelPrefix: string;
  readonly #closing: AbortSignal;
  /** Resolved when there may be something to send, or nothing any more. */
  #woken = Promise.withResolvers<void>();

  /** Once `closing` is aborted, it serves only until its announcements are sent. */
  constructor(channelPrefix: string, closing: AbortSignal) {
    this.#channelPrefix = channelPrefix;
    this.#closing = closing;
    closing.addEventListener("abort", this.#wake);
  }

  announce(ownerId: string, version: number): void {
    this.#outbox.add(ownerId, version);
    this.#wake();
  }

  subscribe(ownerId: string): void {
    this.#subscriptions.add(ownerId);
    this.#wake();
  }

  unsubscribe(ownerId: string): void {
    this.#subscriptions.remove(ownerId);
    this.#wake();
  }

  /** Sends over this connection. Throws why it has broken; returns when the process ends. */
  async serve(connection: Connection, listener: AnnouncementListener): Promise<void> {
    const { broken } = connection;
    broken.addEventListener("abort", this.#wake);
    this.#subscriptions.restart();
    for (;;) {
      this.#woken = Promise.withResolvers();
      await Promise.all([
        this.#publish(connection),
        this.#changeSubscriptions(connection, listener),
        sleep(periodMs),
      ]);
      if (this.#closing.aborted && this.#outbox.isEmpty) return;
      const isIdle = this.#outbox.isEmpty && this.#subscriptions.isSettled;
      if (isIdle && !broken.aborted) await this.#woken.promise;
      broken.throwIfAborted();
    }
  }

  async #publish(connection: Connection): Promise<void> {
    const messages = this.#outbox.take().map(
      ([ownerId, version]): Message => ({
        channel: this.#channelOf(ownerId),
        text: String(version),
      }),
    );
    await connection.publish(messages);
  }

  async #changeSubscriptions(
    connection: Connection,
    listener: AnnouncementListener,
  ): Promise<void> {
    const batch = this.#subscriptions.take();
    const added = batch.added.map(this.#channelOf);
    const removed = batch.removed.map(this.#channelOf);
    if (added.length > 0) await connection.subscribe(added);
    if (removed.length > 0) await connection.unsubscribe(removed);
    listener.subscribed(this.#subscriptions.confirm(batch));
  }

  readonly #wake = (): void => this.#woken.resolve();
  readonly #channelOf = (ownerId: string): string => this.#channelPrefix + ownerId;
}
