// Statuses of jobs, as engines give them to `engine_ring`. hw/rdl/engine_job.rdl has the meaning of each.
package engine_job_status_pkg;
  import engine_job_registers_pkg::*;

  typedef logic [7:0] status_t;
  localparam status_t Done = status_t'(StatusCodeDone);
  localparam status_t Malformed = status_t'(StatusCodeMalformed);
  localparam status_t FetchFailed = status_t'(StatusCodeFetchFailed);
  localparam status_t Unsupported = status_t'(StatusCodeUnsupported);
  localparam status_t ReadFailed = status_t'(StatusCodeReadFailed);
  localparam status_t WriteFailed = status_t'(StatusCodeWriteFailed);
  localparam status_t WrongAddress = status_t'(StatusCodeWrongAddress);
  localparam status_t WrongLength = status_t'(StatusCodeWrongLength);
  localparam status_t NoKey = status_t'(StatusCodeNoKey);
  localparam status_t EvenModulus = status_t'(StatusCodeEvenModulus);
  localparam status_t LargeOperand = status_t'(StatusCodeLargeOperand);
  localparam status_t WrongInstruction = status_t'(StatusCodeWrongInstruction);
  localparam status_t WrongRegister = status_t'(StatusCodeWrongRegister);
  localparam status_t WrongKey = status_t'(StatusCodeWrongKey);
  localparam status_t StackLimit = status_t'(StatusCodeStackLimit);
  localparam status_t NoReturn = status_t'(StatusCodeNoReturn);
endpackage
