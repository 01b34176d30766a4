import {
  ACCOUNT_RECORD
} from "./chunk-77T42IEF.mjs";

// trials/asl.ts
var RESOURCE = "arn:aws:lambda:us-east-1:123456789012:function:read";
function polyfill() {
  const promise = Promise;
  promise.withResolvers ??= () => {
    const handles = {};
    handles["promise"] = new Promise((resolve, reject) => Object.assign(handles, { resolve, reject }));
    return handles;
  };
}
function task(next) {
  return { Type: "Task", Resource: RESOURCE, ResultPath: "$.read", ...next === void 0 ? { End: true } : { Next: next } };
}
function trial(definition) {
  return {
    async prepare(size) {
      polyfill();
      const { StateMachine } = await import("aws-local-stepfunctions");
      const { machine, tasks, input } = definition(size);
      const made = new StateMachine(machine, { validationOptions: { noValidate: true } });
      const read = async () => JSON.parse(ACCOUNT_RECORD);
      const taskResourceLocalHandlers = Object.fromEntries(tasks.map((name) => [name, read]));
      return async () => {
        await made.run(input, { overrides: { taskResourceLocalHandlers } }).result;
      };
    }
  };
}
function chain(size) {
  const tasks = Array.from({ length: size }, (_, index) => `step ${index}`);
  const states = tasks.map((name, index) => [name, task(tasks[index + 1])]);
  return { machine: { StartAt: tasks[0], States: Object.fromEntries(states) }, tasks, input: {} };
}
function map(size) {
  const Iterator = { StartAt: "read", States: { read: task(void 0) } };
  const machine = { StartAt: "loop", States: { loop: { Type: "Map", MaxConcurrency: 1, Iterator, End: true } } };
  return { machine, tasks: ["read"], input: Array.from({ length: size }, (_, index) => ({ index })) };
}
function parallel(size) {
  const tasks = Array.from({ length: size }, (_, index) => `read ${index}`);
  const Branches = tasks.map((name) => ({ StartAt: name, States: { [name]: task(void 0) } }));
  return { machine: { StartAt: "all", States: { all: { Type: "Parallel", Branches, End: true } } }, tasks, input: {} };
}
var ASL_TRIALS = { aslLine: trial(chain), aslLoop: trial(map), aslBranches: trial(parallel) };
export {
  ASL_TRIALS
};
