// The forms that the server speaks: docs/contracts/api.md and docs/formats/json.md.

export type Role = 'system' | 'context' | 'user' | 'assistant' | 'tool';
export type ToolClass = 'read_only' | 'idempotent' | 'unsafe';
export type Outcome = 'ok' | 'error' | 'denied' | 'unknown' | 'interrupted';
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Metadata = { [key: string]: Json };

export interface ForkOrigin {
  branch: string;
  // The last message that is shared with the parent, that one included.
  at_index: number;
}

export interface Branch {
  id: string;
  forked_from?: ForkOrigin;
  label?: string;
  description?: string;
  tags?: string[];
  messages: number;
  created_at: string;
  last_activity: string;
}

export interface Session {
  id: string;
  revision: number;
  status: 'active' | 'closed';
  end_reason?: string;
  created_at: string;
  last_activity: string;
  metadata?: Metadata;
  // Absent in lists.
  branches?: Branch[];
  // What the store has of it cannot be read; nothing else is known.
  damaged?: true;
  // Something of it is damaged: a branch may end earlier than it did, and nothing can be written. Absent in lists.
  incomplete?: true;
}

export interface SessionPage {
  sessions: Session[];
  next?: string;
}

export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'reasoning'; text: string }
  | { kind: 'tool_call'; tool: string; call_id: string; arguments?: Json; arguments_text?: string }
  | { kind: 'tool_result'; tool: string; call_id: string; outcome: Outcome; output?: string }
  | { kind: 'image'; media_type: string; asset?: string; address?: string }
  | { kind: 'file'; media_type: string; asset?: string; address?: string };

export interface Cause {
  code: string;
  message: string;
}

export interface Message {
  id: string;
  role: Role;
  time: string;
  author?: string;
  origin: string;
  source?: string;
  tokens?: number;
  text?: string;
  parts?: Part[];
  interrupted?: boolean;
  internal?: boolean;
  // Why nothing was said to it.
  unanswered?: Cause;
  // Where it stands.
  index: number;
  revision: number;
  turn: string;
}

export interface MessagePage {
  branch: string;
  total: number;
  messages: Message[];
  // Something of the session is damaged: messages may be missing at the end.
  incomplete?: true;
}

export interface Diff {
  // How many messages both branches begin with.
  common: number;
  ours: Message[];
  theirs: Message[];
}

export type OnBusy = 'reject' | 'queue' | 'steer' | 'interrupt';

export type OnInterrupted = 'go_on' | 'finish' | 'abandon' | 'discard';

export interface TurnRequest {
  session?: string;
  branch?: string;
  agent?: string;
  // A model of the configuration, by its name there, in place of the agent's own.
  model?: string;
  message: string | { parts: Part[] };
  on_busy?: OnBusy;
  on_interrupted?: OnInterrupted;
  options?: {
    model?: string;
    temperature?: number;
    top_p?: number;
    max_output_tokens?: number;
    stop?: string[];
    seed?: number;
    reasoning_effort?: string;
    instructions?: string;
    extra_instructions?: string;
    budget?: number;
    tools?: false;
    timeout_ms?: number;
  };
}

export interface TurnOutcome {
  turn: string;
  session: string;
  branch: string;
  status: 'committed' | 'interrupted';
  reason?: string;
  revision: number;
  text?: string;
  finish?: string;
  usage?: { input_tokens: number; cached_tokens: number; output_tokens: number; reasoning_tokens: number };
  messages?: Message[];
}

export interface TurnState {
  turn: string;
  branch: string;
  status: 'running' | 'parked' | 'committed' | 'interrupted' | 'failed';
}

export interface ImportCounts {
  sessions: number;
  branches: number;
  turns: number;
  messages: number;
  records: number;
  bytes: number;
}

export interface Erased {
  sessions: number;
  branches: number;
  turns: number;
  records: number;
  // Sessions that are damaged and may still hold something of it; erase them as well.
  damaged?: string[];
}

export interface TurnsInProgress {
  running: { turn: string; branch: string; since: string; input?: Omit<Message, 'index' | 'revision' | 'turn'>[] }[];
  // `cause`: what it failed with; none: its process ended.
  interrupted: { turn: string; branch: string; agent: string; since: string; cause?: Cause; input?: Omit<Message, 'index' | 'revision' | 'turn'>[] }[];
}

export type EventKind =
  | 'turn_started'
  | 'turn_committed'
  | 'turn_interrupted'
  | 'turn_failed'
  | 'context_degraded'
  | 'iteration'
  | 'receipt'
  | 'text_started'
  | 'text_delta'
  | 'text_ended'
  | 'reasoning_started'
  | 'reasoning_delta'
  | 'reasoning_ended'
  | 'tool_call_started'
  | 'tool_call_arguments'
  | 'tool_call_result'
  | 'permission_asked'
  | 'permission_given'
  | 'retry'
  | 'reset'
  | 'workflow_started'
  | 'workflow_status'
  | 'workflow_failed'
  | 'workflow_output'
  | 'workflow_intermediate'
  | 'request_info'
  | 'warning'
  | 'error'
  | 'superstep_started'
  | 'superstep_completed'
  | 'executor_invoked'
  | 'executor_completed'
  | 'executor_failed'
  | 'executor_bypassed'
  | 'group_chat'
  | 'handoff_sent'
  | 'orchestrator';

export interface TurnEvent {
  turn: string;
  // Rises within the turn, not always by one.
  number: number;
  time: string;
  kind: EventKind;
  internal?: boolean;
  index?: number;
  text?: string;
  name?: string;
  call_id?: string;
  data?: Json;
}

export type Tier = 'system' | 'procedure' | 'knowledge' | 'episode' | 'history' | 'current' | 'tools';
export type Fate = 'kept' | 'truncated' | 'dropped';

export interface ReceiptItem {
  tier: Tier;
  id: string;
  tokens: number;
  fate: Fate;
  reason: string;
  score?: number;
  /** So many others stand behind this one: messages of a history, or tools. */
  more?: number;
}

export interface Receipt {
  turn: string;
  iteration?: number;
  revision?: number;
  made_at: string;
  model?: string;
  items?: ReceiptItem[];
  total: number;
  budget: number;
  output_reserve?: number;
  shared_prefix?: number;
  tokenizer?: string;
  exact?: boolean;
}

export interface Question {
  session: string;
  branch: string;
  turn: string;
  call: number;
  kind: 'permission' | 'client_tool' | 'elicitation';
  tool: string;
  class: ToolClass;
  arguments?: Json;
  // Of an elicitation: what a running call wants to know, and the JSON schema of the answer.
  part?: string;
  text?: string;
  schema?: Json;
  asked_at: string;
  expires_at: string;
}

export type Choice = 'once' | 'always' | 'always_exactly' | 'deny' | 'always_deny' | 'output';

export interface ToolCallRecord {
  id: string;
  session: string;
  branch: string;
  turn: string;
  number?: number;
  call_id: string;
  tool: string;
  input?: Json;
  output?: Json;
  error?: string;
  called_at: string;
  duration_us?: number;
  class: ToolClass;
  approval: string;
  outcome: Outcome;
}

export interface ToolCallPage {
  tool_calls: ToolCallRecord[];
  next?: string;
  // Sessions that are damaged, so that not all of their calls can be listed.
  damaged?: string[];
}

export interface Asset {
  id: string;
  media_type: string;
  bytes: number;
}

export interface AgentInfo {
  id: string;
  name?: string;
  model: string;
  tools?: { name: string; description?: string; class: ToolClass }[];
}

// A model of the configuration that a turn can be given in place of its agent's own.
export interface ModelChoice {
  name: string;
  provider?: string;
  // The provider's own name for it.
  model: string;
  // What one request may hold.
  context_tokens: number;
  available: boolean;
  // Why it is not: `model_key` if its key is missing.
  problem?: { code: string; message: string };
}

export interface Collection {
  id: string;
  items: number;
  documents: number;
  facts: number;
  writable: boolean;
}

export interface NewDocument {
  // Names it within its collection: the same source again takes its place.
  source: string;
  text: string;
  format?: 'text' | 'markdown' | 'html';
  collection?: string;
  metadata?: Record<string, string>;
}

export interface MemoryDocument {
  source: string;
  chunks: number;
  tokens: number;
  written_at: string;
  writer: string;
  metadata?: Record<string, string>;
}

export interface Job {
  id: string;
  collection: string;
  source: string;
  status: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  chunks_done: number;
  // 0 until it is known.
  chunks: number;
  changed?: boolean;
  removed?: number;
  error?: { code: string; message: string };
  created_at: string;
  ended_at?: string;
}

export interface Removed {
  removed: number;
  prompt_parts?: number;
}

export interface FoundMessage {
  session: string;
  branch: string;
  index: number;
  id: string;
  role: 'user' | 'assistant';
  time: string;
  excerpt: string;
}

// How much of each is gone.
export interface ErasedMessage {
  messages: number;
  episodes: number;
  summaries: number;
  items: number;
  prompt_parts: number;
  records: number;
  // Sessions that are damaged and may still hold something of it; erase them as well.
  damaged?: string[];
}

export type MemoryKind = 'chunk' | 'fact' | 'turn';

export interface MemoryItem {
  id: string;
  collection: string;
  kind: MemoryKind;
  source?: string;
  place?: number;
  heading_path?: string[];
  text: string;
  time: string;
  valid_until?: string;
  superseded_by?: string;
  sources?: string[];
  metadata?: Record<string, string>;
  writer: string;
  // Of what was searched for.
  score?: number;
  tokens?: number;
}

export interface MemorySearch {
  query: string;
  collections?: string[];
  top_k?: number;
  min_score?: number;
  max_tokens?: number;
  hybrid?: boolean;
  neighbours?: number;
  kinds?: MemoryKind[];
  as_of?: string;
}

export interface Fact {
  id: string;
  collection: string;
  text: string;
  valid_from: string;
  valid_until?: string;
  superseded_by?: string;
  // The messages that said it.
  sources?: string[];
  writer: string;
}

export interface Episode {
  id: string;
  session: string;
  branch: string;
  // Its messages, both included.
  first: number;
  last: number;
  opened_at: string;
  closed_at: string;
  end_reason: string;
  summary?: string;
  key_facts?: string[];
  message_count?: number;
  turn_count?: number;
}

export interface EpisodePage {
  episodes: Episode[];
  next?: string;
  // Sessions that are damaged, so that not all of their episodes can be listed.
  damaged?: string[];
}

export interface NewProcedure {
  name: string;
  description: string;
  trigger?: string;
  steps?: { instruction: string; tool?: string }[];
  approved?: boolean;
  agent?: string;
}

export interface Procedure {
  name: string;
  description: string;
  trigger?: string;
  steps: { instruction: string; tool?: string }[];
  approved: boolean;
  learned: boolean;
  writer: string;
  changed_at: string;
}

export interface WorkflowGraph {
  start: string;
  nodes: { id: string; kind: string; agent?: string; internal?: boolean }[];
  edges: { from: string; to: string; kind: string; label?: string }[];
}

export interface Workflow {
  id: string;
  name: string;
  participants: string[];
  warnings?: string[];
  // Why it cannot run.
  error?: { code: string; message: string };
  graph?: WorkflowGraph;
}

export interface NewRun {
  message?: string;
  session?: string;
  branch?: string;
  handle?: string;
  exact?: boolean;
  internal?: boolean;
}

export interface InfoRequest {
  id: string;
  node: string;
  data: Json;
  asked_at: string;
}

export type RunStatus = 'running' | 'waiting' | 'completed' | 'cancelled' | 'failed';

export interface RunOutcome {
  run: string;
  workflow: string;
  session: string;
  branch: string;
  status: 'completed' | 'waiting' | 'cancelled';
  supersteps: number;
  text: string;
  outputs: { node: string; data: Json }[];
  requests: InfoRequest[];
  handle: string;
}

export interface Run {
  run: string;
  workflow: string;
  session: string;
  branch: string;
  status: RunStatus;
  live: boolean;
  supersteps: number;
  started_at: string;
  last_activity: string;
  requests: InfoRequest[];
  checkpoint: string;
  forked_from?: string;
}

export interface Checkpoint {
  id: string;
  parent?: string;
  superstep: number;
  status: RunStatus;
  revision: number;
  time: string;
}
