// What the server refuses, and what keeps a request from reaching it.

export class TertuliaError extends Error {
  // Stable, for programs: the codes of docs/contracts/api.md, and "unreachable" when there was no answer.
  readonly code: string;
  // The HTTP status; 0 when there was no answer.
  readonly status: number;
  // `param`, `limit`, `current`, `turn`, …
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, status = 0, facts: Record<string, unknown> = {}) {
    super(message);
    this.name = 'TertuliaError';
    this.code = code;
    this.status = status;
    this.facts = facts;
  }

  // Asking again later may succeed, and asking again with the same idempotency key does nothing twice.
  get transient(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status === 503;
  }
}

// The error in a body of the form {"error": {"code", "message", …}}, whatever else the body may be.
export function errorFrom(body: unknown, status: number): TertuliaError {
  const error = body && typeof body === 'object' ? (body as { error?: unknown }).error : undefined;
  if (error && typeof error === 'object') {
    const { code, message, ...facts } = error as Record<string, unknown>;
    return new TertuliaError(
      typeof code === 'string' ? code : 'bad_answer',
      typeof message === 'string' ? message : `The server answered ${status}.`,
      status,
      facts,
    );
  }
  return new TertuliaError('bad_answer', `The server answered ${status}, and not in a form that is known.`, status);
}
