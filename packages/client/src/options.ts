/** The options of a client. */

/** Keys and certificates in PEM. */
export interface TlsOptions {
  /** The authorities that the servers' certificates have to come from; Node's own by default. */
  readonly ca?: string | Uint8Array;
  /** The client's certificate, where servers ask for one. */
  readonly cert?: string | Uint8Array;
  /** The private key of the client's certificate. */
  readonly key?: string | Uint8Array;
  /** The name in the servers' certificates; the name in the address by default. */
  readonly servername?: string;
}

export interface MeguriOptions {
  /**
   * The addresses of the servers, such as `http://10.0.0.1:8080`. A name that resolves to several
   * IP addresses counts as several servers.
   */
  readonly url: string | readonly string[];
  /** The protocol: gRPC by default, or the Connect protocol. */
  readonly transport?: "grpc" | "connect";
  /** The version of HTTP, 2 by default. gRPC needs 2. */
  readonly httpVersion?: "1.1" | "2";
  /** The name of the calling service (header meguri-caller), for servers without authentication. */
  readonly caller?: string;
  /**
   * A bearer token, or a function that returns one. The function is called again shortly before a
   * JWT expires, and once in a call that a server answers with UNAUTHENTICATED.
   */
  readonly token?: string | (() => string | Promise<string>);
  readonly tls?: TlsOptions;
  /**
   * The deadline of a call in ms with all its tries: 10,000 by default. A method that the contract
   * gives a time limit of its own has that one. `timeoutMs` of a call comes first; 0 means none.
   * Server streams and uploads have no deadline unless the call has one.
   */
  readonly timeoutMs?: number;
}
