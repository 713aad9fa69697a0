/** Format of a program: the text IR, or PTX. */
export type Language = "wir" | "ptx";

/** The package's version. */
export function version(): string;

/**
 * Starts the engine; await it before anything else. In Node it is ready at once.
 * @param source where the wasm is, if not beside the package's files: its address, a response, its bytes or a compiled module
 */
export function init(source?: string | URL | Request | Response | Promise<Response> | BufferSource | WebAssembly.Module): Promise<void>;

/** Reads a program. Its diagnostics are part of the answer. */
export function parse(source: string, options?: ParseOptions): Parsed;

/**
 * Runs passes over a program; the answer is that of `warpscope opt --json`.
 * @throws {EngineError} if the program or the options are wrong
 */
export function optimize(source: string, options?: OptimizeOptions): Optimized;

/**
 * Runs passes over a program and returns their inspections; the answer is that of `warpscope inspect --json`.
 * @throws {EngineError} if the program or the options are wrong
 */
export function inspect(source: string, options?: InspectOptions): Inspected;

/**
 * Runs a program's launch on the simulated multiprocessor; the answer is that of `warpscope sim --json`.
 * @throws {EngineError} if the program or the options are wrong, or the run failed
 */
export function simulate(source: string, options?: SimulateOptions): Simulated;

/**
 * Builds the value name graph of a function; the answer is that of `warpscope vng --json`.
 * @throws {EngineError} if the program or the options are wrong
 */
export function vng(source: string, options: VngOptions & { kernel: string }): ValueNames;
/** Builds the value name graph of each function. */
export function vng(source: string, options?: VngOptions): ValueNames[];

/**
 * Bounds how often a function computes values again; the answer is that of `warpscope estimate --json`.
 * @throws {EngineError} if the program, the options or the profile are wrong, or a run failed
 */
export function estimate(source: string, options: EstimateOptions & { kernel: string }): Estimated;
/** Bounds it for each function whose profile is one of whole runs. */
export function estimate(source: string, options?: EstimateOptions): Estimated[];

export interface ParseOptions {
  /** Default: `wir`. */
  from?: Language;
}

/** An error, or a warning. */
export interface Diagnostic {
  /** Stable code of the kind, such as `unknown-opcode`. */
  code: string;
  severity: "warning" | "error";
  /** The line, from 1. */
  line: number;
  /** The column, from 1, in characters. */
  column: number;
  /** Start, as an index in the source in UTF-16 units, as JavaScript counts. */
  from: number;
  /** End. */
  to: number;
  message: string;
  /** How to repair it, in a sentence. */
  hint: string | null;
}

export interface Parsed {
  diagnostics: Diagnostic[];
  /** The canonical text IR; null if there are errors. */
  text: string | null;
  kernels: Kernel[];
}

export interface Kernel {
  name: string;
  params: { name: string; type: string }[];
  blocks: number;
  /** Terminators included. */
  instructions: number;
  /** Whether the source has a launch for it. */
  launch: boolean;
}

/** Settings of a run; absent ones are those of the program's launch. */
export interface RunOptions {
  /** A text whose launches replace those of the source. */
  launch?: string;
  /** The machine model. Default: `ampere`. */
  machine?: string;
  seed?: number;
  /** Settings of the page's sliders: `{ "input.true": 0.3, "x.zero": 0.5, "l1": "off" }`. */
  set?: Record<string, string | number>;
  grid?: Dimensions;
  block?: Dimensions;
  /** Lanes per warp: 8, 16 or 32. */
  warp?: number;
  /** Warp instructions after which a run is stopped. */
  fuel?: number;
}

/** Passes that use a launch get it with the run's options applied. */
export interface OptimizeOptions extends ParseOptions, RunOptions {
  /** Passes and pipelines in order, as text or as a list: `"copy-prop,dce"`. Default: none. */
  passes?: string | string[];
  /** Only this kernel is changed. Default: all. */
  kernel?: string;
  /** Settings of passes: `{ "azp.p_thresh": 0.32 }`. */
  knobs?: Record<string, string | number | boolean>;
  /** May floats be treated as real numbers? Default: false. */
  fastMath?: boolean;
  /**
   * Format of the answer's text. Default: `wir`. For `ptx`, passes whose knob `faulting` is `auto` guard loads
   * that might fault.
   */
  emit?: Language;
  /**
   * With `emit: "ptx"`, loads that must not fault are printed as ordinary loads, which may. Default: false, such a program
   * is refused.
   */
  plainLoads?: boolean;
  /**
   * Source of frequencies for profile-driven passes: the program's declared profile, or one measured by running its
   * kernels first. Default: `declared`.
   */
  profile?: "declared" | "simulate";
}

export interface Optimized {
  passes: PassReport[];
  /** The whole module after the last pass; as `wir` with its launches. */
  text: string;
  /** With `emit: "ptx"`, the launches, which PTX cannot express: a text for the option `launch`. */
  launch?: string;
}

export interface PassReport {
  name: string;
  changed: boolean;
  /** Time taken, in microseconds. */
  micros: number;
  before: Size;
  after: Size;
  /** Why it stopped early, if it did. */
  error?: string;
  remarks: Remark[];
}

export interface Size {
  blocks: number;
  /** Terminators included. */
  instructions: number;
}

export interface Remark {
  kind: "applied" | "missed";
  /** The pass's rule. */
  rule: string;
  /** The kernel or function. */
  function: string;
  /** The label of the block that it is about. */
  at: string;
  message: string;
  facts: Record<string, unknown>;
}

/** Options of `optimize`, and those of the inspection. */
export interface InspectOptions extends ParseOptions, RunOptions, Pick<OptimizeOptions, "passes" | "kernel" | "knobs" | "fastMath" | "profile"> {
  /** Inspect after so many rewrites. Default: each pass where it begins. */
  stop?: number;
  /** Inspect by this analysis in place of the passes, at the stop or at the end. */
  analysis?: "vng" | "estimate";
  /** Values of the inspection's choices, by key: `{ candidate: 3 }`. */
  choices?: Record<string, string | number>;
}

/** The inspections of passes in their order, or that of an analysis. */
export interface Inspected {
  inspections: Inspection[];
}

/** A pass's inspection of a function, in the same terms for every pass. */
export interface Inspection {
  /** The pass or analysis. */
  pass: string;
  function: string;
  /** Rewrites that are done. */
  stop: number;
  title: string;
  /** The next change. Sentences have code between backticks. */
  lead: string;
  /** An explanation for newcomers; empty if none is needed. */
  aside: string;
  choices: Choice[];
  notes: Note[];
  tables: Table[];
  charts: Chart[];
  networks: Network[];
  /** Position of a walk, outermost first. */
  trail: GraphNode[];
  legend: { look: MarkLook; sign: string; label: string; count: number }[];
  marks: Mark[];
  /** Paths along the lines of the graph; `share` of all executions, 0 to 1. */
  strands: { blocks: number[]; share: number; label: string }[];
  graphs: { name: string; nodes: GraphNode[]; edges: [number, number][] }[];
  timeline: Timeline | null;
  /** Whether tables, trail and graphs are those of one moment, so that each moment is an inspection of its own. */
  is_momentary: boolean;
  /** Changes of the source that carry out what has been entered. */
  offers: { label: string; source: string }[];
}

export type MarkLook =
  | "plain" | "good" | "bad" | "new" | "current" | "faint" | "closed" | "partial"
  | "cause" | "constant" | "simpler" | "removed" | "copied";

/** A part of the program, by the numbers of blocks and instructions. */
export type Anchor =
  | { block: number }
  | { start: number }
  | { end: number }
  | { edge: [number, number] }
  | { inst: number }
  | { before: number }
  | { range: { block: number; from: number | null; to: number | null } }
  | { path: number[] };

export interface Mark {
  anchor: Anchor;
  look: MarkLook;
  text: string;
}

export interface GraphNode {
  anchor: Anchor;
  label: string;
  look: MarkLook;
}

export interface Note {
  word: string;
  look: MarkLook;
  sentence: string;
  aside: string;
  terms: { name: string; meaning: string }[];
}

export interface Choice {
  /** Its key in `InspectOptions.choices`. */
  key: string;
  label: string;
  is_long: boolean;
  options: { value: string; label: string; note: string; anchor: Anchor | null }[];
  /** The value in use; empty if none is. */
  value: string;
  left_out: number;
  /** The verdict on it. */
  result: Note | null;
  /** Whether it is a setting: other choices stay when it changes. */
  is_setting: boolean;
  help: string;
}

export interface Table {
  name: string;
  columns: { name: string; index: string; unit: string; help: string; kind: "words" | "number" | "flag" | "path" | "bounds" }[];
  rows: Row[];
  /** Rows besides those. */
  left_out: number;
  left_out_words: string;
  empty: string;
  /** The key of the choice that selecting a row makes; empty if there is none. */
  choice: string;
}

/** Numbers over an axis. */
export interface Chart {
  name: string;
  across: Axis;
  up: Axis;
  series: Series[];
  /** Places of the axis from left to right that stand out, such as `now`. */
  marks: { at: number; label: string }[];
}

export interface Axis {
  name: string;
  unit: string;
  /** Words in place of the numbers 0, 1, 2 and so on. */
  words: string[];
}

export interface Series {
  name: string;
  kind: "points" | "line" | "bars";
  points: { x: number; y: number; interval: [number, number] | null; label: string }[];
}

/** A maximum flow and a minimum cut. Edges have the places of their nodes. */
export interface Network {
  name: string;
  nodes: { label: string; role: "plain" | "source" | "sink"; is_before_cut: boolean; anchor: Anchor | null }[];
  edges: { from: number; to: number; capacity: number | null; flow: number; is_cut: boolean }[];
  /** The value of the flow. */
  value: number;
}

export interface Row {
  key: string;
  /** One for each column. */
  cells: Cell[];
  look: MarkLook;
  is_choosable: boolean;
  is_chosen: boolean;
  verdict: { is_good: boolean; rule: string; sentence: string } | null;
  anchor: Anchor | null;
  /** The moment of the timeline when it came about. */
  moment: number | null;
  help: string;
  /** Whether it is a part of the last row before it that is none. */
  is_part: boolean;
  strand: number | null;
}

export interface Cell {
  text: string;
  value: number | null;
  look: MarkLook;
  help: string;
  /** A number that can be entered here, by its key in `InspectOptions.choices`. */
  entry: { key: string; label: string; default: number } | null;
  /** The bounds of a count, that `of` which it is a part, the tightest bounds known, and the expected and exact counts. */
  bounds: { low: number; high: number; of: number; best: [number, number] | null; expected: number | null; exact: number | null } | null;
}

/** `moments[k]` has happened at moment `first + k + 1`. */
export interface Timeline {
  name: string;
  course: { last: number; changes: number[]; changes_before: number };
  at: number;
  /** The marks of moment 0. */
  start: Moment | null;
  first: number;
  moments: Moment[];
  /** Moments that were kept, where more happened. */
  cut_after: number | null;
  /** Whether the pass's next change comes after the last moment. */
  leads_to_change: boolean;
  kinds: { key: string; label: string; sign: string; is_upward: boolean }[];
  /** The texts of the rules that moments cite, with the work and section that state each. */
  rules: { name: string; text: string; source: string }[];
}

export interface Moment {
  word: string;
  look: MarkLook;
  rule: string;
  /** The index of the rule's text in `Timeline.rules`. */
  cites: number | null;
  sentence: string;
  focus: Anchor | null;
  /** The name of the place when it happened; empty if it has none. */
  place: string;
  marks: Mark[];
  tokens: unknown[];
}

/** One, two or three sizes. */
export type Dimensions = number | [number] | [number, number] | [number, number, number];

export interface SimulateOptions extends ParseOptions, RunOptions {
  /** Default: the first kernel with a launch. */
  kernel?: string;
  /** Whether the answer holds the memory at the end. Default: false. */
  dump?: boolean;
  /** Whether the answer contains a profile. Default: false. */
  profile?: boolean;
}

/** Executions by threads, and by at least one lane of a warp. */
export interface Count {
  lanes: number;
  warps: number;
}

/** A register write, `write` being which one of its block and register. */
export interface Write {
  block: string;
  register: string;
  write: number;
}

/** How often something ran, and how often it gave zero. */
export interface ZeroCount extends Count {
  zero_lanes: number;
  zero_warps: number;
}

/** Profile of a function. */
export interface Profile {
  edges: ({ from: string; to: string } & Count)[];
  /** Acyclic paths as Ball and Larus define them. */
  paths: ({ blocks: string[] } & Count)[];
  /** Writes; `zero_…` are those that gave zero. */
  zeros: (Write & ZeroCount)[];
  /** Writes of a short vector, or of some of its elements; all of them were zero in the `zero_…`. */
  joint: ({ writes: Write[] } & ZeroCount)[];
  /** How often warps executed a block to its end, and how often their lanes diverged there. */
  blocks: { block: string; executions: number; diverged: number }[];
}

/** Cost of a block, an instruction or the whole launch. */
export interface Statistics {
  /** Cycles of the scheduler: one for each issue, and those idle before and during it. */
  cycles: number;
  /** Of these, cycles without an issue, by cause: `arithmetic`, `memory`, `issue`, `barrier`. */
  idle_cycles: Record<string, number>;
  /** Issues by number of active lanes, from 0 to the warp size. */
  occupancy: number[];
}

/** Total cost of all instructions of a block. */
export interface BlockStatistics extends Statistics {
  /** Executions of its branch whose lanes diverged. */
  divergent: number;
  /** Warp-level loads and stores by space. */
  loads: Record<string, number>;
  stores: Record<string, number>;
  /** 32-byte sectors that its accesses requested, and those that the first-level cache had. */
  sectors: number;
  l1_hits: number;
  /** Passes over the banks of shared memory beyond the first of each part of a warp that is served at once. */
  bank_conflicts: number;
}

/** Cost of one instruction. */
export interface InstructionStatistics extends Statistics {
  function: string;
  block: string;
  /** Its place in the block, from 0. */
  index: number;
  opcode: string;
  issues: number;
  /** Active lanes, summed over issues. */
  lanes: number;
  /** For a branch: executions whose lanes diverged. */
  divergent: number;
  /** For an access: issues with at least one active lane. */
  requests: number;
  sectors: number;
  l1_hits: number;
  bank_conflicts: number;
}

/** Result of a run. Numbers that JSON cannot express are the strings `nan`, `inf` and `-inf`. */
export interface Simulated extends Statistics {
  kernel: string;
  machine: string;
  seed: number;
  warp_size: number;
  warps: number;
  warp_instructions: number;
  /** Active lanes, summed over the warp instructions. */
  thread_instructions: number;
  /** Share of lanes that were active, 0 to 1. */
  simt_efficiency: number;
  /** Executions of branches that split their warp. */
  divergent_branches: number;
  global_load_transactions: number;
  global_store_transactions: number;
  global_loads: number;
  global_stores: number;
  /** Blocks by label. */
  blocks: Record<string, { issues: number; lanes: number }>;
  block_statistics: Record<string, BlockStatistics>;
  /** In text order, the kernel's first. */
  instructions: InstructionStatistics[];
  /** Warp-level loads and stores by space. */
  loads: Record<string, number>;
  stores: Record<string, number>;
  sectors_per_request: number;
  shared_bank_conflicts: number;
  /** Sectors that the first-level cache had. */
  l1_hits: number;
  /** Labels of blocks that no lane reached, in text order, the kernel's first. */
  unreached: string[];
  /** Hash of the bytes of all buffers and globals at the end. */
  result_hash: string;
  /** Only with `dump`: the elements of each buffer. */
  memory?: Record<string, (number | string)[]>;
  /** Only with `profile`: profiles by function. */
  profile?: Record<string, Profile>;
  [more: string]: unknown;
}

/** Options of `vng`. */
export interface VngOptions extends ParseOptions {
  /** Only this kernel or function; the answer is one document then. Default: all, in a list. */
  kernel?: string;
  /** Instructions whose values are followed. Default: `loads`. */
  seeds?: "loads" | "arithmetic" | "branches" | "all";
  /** Traversals across loop iterations that change a name, 1 to 8. Default: 3. */
  window?: number;
  /** Settings of analyses: `{ "vng.kills": "none", "estimate.estimators": ["cmp2"] }`. */
  knobs?: Record<string, KnobValue>;
}

/** Options of `vng`, and those of the profile. */
export interface EstimateOptions extends VngOptions, RunOptions {
  /** Source of the counts: the program's declared profile, or runs of its kernels. Default: `declared`. */
  profile?: "declared" | "simulate";
  /** Count reuse exactly in runs. Implies `profile: "simulate"`. Default: false. */
  exact?: boolean;
  /** Add the flow networks of cmp4. Default: false. */
  network?: boolean;
}

/** A number, a switch, a word or a list of words. */
export type KnobValue = number | boolean | string | string[];

export type Availability = "must" | "may" | "no";

/** Label of a block and index of an instruction in it. */
export type Place = [string, number];

/** A lower and an upper bound, both included. */
export type Interval = [number, number];

/** A limit that was reached, or what was left out. */
export interface AnalysisNote {
  rule: string;
  message: string;
}

/** The value name graph of a function. */
export interface ValueNames {
  kernel: string;
  knobs: Record<string, KnobValue>;
  /** Registers that the function mentions. */
  registers: number;
  blocks: number;
  names: number;
  classes: number;
  vertices: number;
  /** Edges along which one class continues as several. */
  splits: number;
  /** Whether no edge changes a name and there are no splits. */
  separable: boolean;
  /** Share of the blocks in which or into which a name changes, 0 to 1. */
  changed_blocks: number;
  /** Names for windows 1 to 4; `ratio` is names for each register. */
  growth: { window: number; names: number; ratio: number }[];
  seeds: Seed[];
  values: ValueNamesOfValue[];
  remarks: AnalysisNote[];
}

/** An instruction whose name is followed. */
export interface Seed {
  block: string;
  index: number;
  text: string;
  kind: "user" | "generator";
  name: string;
  /** The value that it belongs to; null where nothing uses it. */
  value: number | null;
  /** Null for generators. */
  availability: Availability | null;
  anticipated: Availability;
  /** The constant that it is on every path; floats that are no numbers as words. */
  constant: number | "nan" | "inf" | "-inf" | null;
}

/** A value with its names, block by block; `from` are those before. */
export interface ValueNamesOfValue {
  id: number;
  seeds: Place[];
  splits: number;
  names: { block: string; name: string; from: { block: string; name: string | null }[] }[];
}

/** The estimates of a function. Counts are lanes. */
export interface Estimated {
  kernel: string;
  runs: number;
  profile: "declared" | "simulated";
  from: "edges" | "paths";
  knobs: Record<string, KnobValue>;
  /** Executions of all users. */
  users: number;
  /** Reuse that is certain. */
  definite: number;
  bounds: EstimatorBounds;
  /** Intersections of the values' bounds, added. */
  best: Interval;
  /** Reuse if every branch is decided by itself. */
  expected: number;
  /** Reuse in runs; null without `exact`. */
  exact: number | null;
  /** The same count by flags at the entries and exits of regions. */
  correlation: { count: number; flags: number; counters: number } | null;
  values: EstimatedValue[];
  instructions: EstimatedInstruction[];
  remarks: AnalysisNote[];
}

/** Bounds of the estimators that were computed. */
export type EstimatorBounds = Partial<Record<"pre" | "cmp1" | "cmp2" | "cmp3" | "cmp4", Interval>>;

export interface EstimatedValue {
  id: number;
  name: string;
  seeds: Place[];
  users: number;
  definite: number;
  region: ValueRegion;
  bounds: EstimatorBounds;
  expected: number;
  exact: number | null;
  /** Only with `network`: for each subregion the network with the value, and the one without it. */
  networks?: FlowNetwork[];
}

/** Where an edge profile does not tell which users are reached with the value. */
export interface ValueRegion {
  blocks: string[];
  subregions: number;
  /** Executions that splits duplicate, with the value and without it. */
  duplicated: [number, number];
  /** `from` is null for nowhere and where a run begins. */
  entries: { from: string | null; to: string; name: string; count: number; available: boolean }[];
  /** `to` is null where threads end in a function that is called. */
  exits: { from: string; to: string | null; name: string; count: number; needed: boolean }[];
}

/** A flow network; edges give nodes by their places, and `cut` gives edges. */
export interface FlowNetwork {
  subregion: number;
  available: boolean;
  flow: number;
  nodes: { kind: "source" | "sink" | "name" | "split"; block: string | null; name: string | null }[];
  edges: { from: number; to: number; capacity: number; flow: number }[];
  /** The minimum cut nearest the sink. */
  cut: number[];
}

export interface EstimatedInstruction {
  block: string;
  index: number;
  opcode: string;
  name: string;
  executions: number;
  availability: Availability;
  pre: Interval;
  expected: number;
  exact: number | null;
}

/** The program or the options were wrong, or a run failed. The message is what the command line would print. */
export class EngineError extends Error {
  /** The errors in the program, if it was the program. */
  diagnostics: Diagnostic[];
}
