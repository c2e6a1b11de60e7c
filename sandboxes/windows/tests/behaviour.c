/* What the backend takes for granted of open handles and jobs, tried with the very calls and flags
   that it uses. Prints one fact a line, with 1 where it is so. */
#define _WIN32_WINNT 0x0A00
#include <windows.h>
#include <stdio.h>

#define TOGETHER (FILE_SHARE_READ | FILE_SHARE_WRITE)
#define AS_IT_IS (FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)

static void say(const char *fact, int is_so) {
    printf("%s %d\n", fact, is_so);
    fflush(stdout);
}

static HANDLE open_it(const WCHAR *path, DWORD access, DWORD share, DWORD flags) {
    return CreateFileW(path, access, share, NULL, OPEN_EXISTING, AS_IT_IS | flags, NULL);
}

static int is_there(const WCHAR *path) {
    return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

static HANDLE start(const WCHAR *self, const WCHAR *word, DWORD flags, PROCESS_INFORMATION *made) {
    WCHAR line[1024];
    STARTUPINFOW startup = {.cb = sizeof startup};
    wsprintfW(line, L"\"%s\" %s", self, word);
    CreateProcessW(NULL, line, NULL, NULL, FALSE, flags, NULL, NULL, &startup, made);
    return made->hProcess;
}

static void try_holds(void) {
    CreateDirectoryW(L"outer", NULL);
    CreateDirectoryW(L"outer\\kept", NULL);
    CloseHandle(CreateFileW(L"outer\\file", GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL));
    HANDLE looked_at = open_it(L"outer\\kept", FILE_READ_ATTRIBUTES, TOGETHER, 0);
    say("looking_at_attributes_holds_nothing", MoveFileW(L"outer\\kept", L"outer\\moved"));
    CloseHandle(looked_at);
    MoveFileW(L"outer\\moved", L"outer\\kept");
    HANDLE folder = open_it(L"outer\\kept", FILE_READ_DATA, TOGETHER, 0);
    HANDLE file = open_it(L"outer\\file", FILE_READ_DATA, TOGETHER, 0);
    say("folder_is_held", folder != INVALID_HANDLE_VALUE);
    say("held_folder_cannot_be_renamed", !MoveFileW(L"outer\\kept", L"outer\\moved"));
    say("held_folder_cannot_be_removed", !RemoveDirectoryW(L"outer\\kept"));
    say("folder_of_a_held_one_cannot_be_renamed", !MoveFileW(L"outer", L"elsewhere"));
    MoveFileW(L"elsewhere", L"outer");
    say("held_file_cannot_be_renamed", !MoveFileW(L"outer\\file", L"outer\\moved"));
    say("held_file_cannot_be_removed", !DeleteFileW(L"outer\\file"));
    HANDLE written = open_it(L"outer\\file", FILE_WRITE_DATA, TOGETHER, 0);
    say("held_file_can_be_written", written != INVALID_HANDLE_VALUE);
    CloseHandle(written);
    HANDLE again = open_it(L"outer\\kept", FILE_READ_DATA, TOGETHER, 0);
    say("held_folder_can_be_held_again", again != INVALID_HANDLE_VALUE);
    CloseHandle(again);
    say("new_names_in_a_held_folder_come_and_go",
        CreateDirectoryW(L"outer\\kept\\new", NULL) && RemoveDirectoryW(L"outer\\kept\\new"));
    CloseHandle(file);
    CloseHandle(folder);
    say("what_was_let_go_can_be_removed",
        DeleteFileW(L"outer\\file") && RemoveDirectoryW(L"outer\\kept"));
}

static void try_stand_ins(const WCHAR *self) {
    CreateDirectoryW(L"missing", NULL);
    HANDLE own = open_it(L"missing", DELETE, TOGETHER, FILE_FLAG_DELETE_ON_CLOSE);
    say("stand_in_is_held", own != INVALID_HANDLE_VALUE);
    say("stand_in_cannot_be_removed", !RemoveDirectoryW(L"missing"));
    say("stand_in_cannot_be_renamed", !MoveFileW(L"missing", L"moved"));
    HANDLE closed = open_it(L"missing", FILE_READ_DATA, TOGETHER, 0);
    say("stand_in_is_shared_only_with_deletion",
        closed == INVALID_HANDLE_VALUE && GetLastError() == ERROR_SHARING_VIOLATION);
    HANDLE other = open_it(L"missing", FILE_READ_DATA, TOGETHER | FILE_SHARE_DELETE, 0);
    say("stand_in_of_another_can_be_held", other != INVALID_HANDLE_VALUE);
    CloseHandle(own);
    say("stand_in_stays_taken_while_one_holds_it", !CreateDirectoryW(L"missing", NULL));
    CloseHandle(other);
    say("stand_in_goes_with_its_handle", !is_there(L"missing"));

    PROCESS_INFORMATION made;
    HANDLE holder = start(self, L"hold", 0, &made);
    while (!is_there(L"ready") && WaitForSingleObject(holder, 10) == WAIT_TIMEOUT) {}
    say("stand_in_of_a_process_is_there", is_there(L"of-another"));
    TerminateProcess(holder, 1);
    WaitForSingleObject(holder, INFINITE);
    say("stand_in_of_a_killed_process_is_gone", !is_there(L"of-another"));
}

static void try_jobs(const WCHAR *self) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION bounds = {0};
    bounds.BasicLimitInformation.LimitFlags =
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
    bounds.BasicLimitInformation.ActiveProcessLimit = 1;
    HANDLE job = CreateJobObjectW(NULL, NULL);
    say("bounds_are_taken", SetInformationJobObject(job, JobObjectExtendedLimitInformation,
                                                    &bounds, sizeof bounds));
    PROCESS_INFORMATION first;
    start(self, L"wait", CREATE_SUSPENDED, &first);
    say("process_that_does_not_run_is_put_into_a_job",
        AssignProcessToJobObject(job, first.hProcess));
    ResumeThread(first.hThread);
    CloseHandle(job);
    say("processes_end_with_their_job",
        WaitForSingleObject(first.hProcess, 120000) == WAIT_OBJECT_0);
}

int wmain(int count, WCHAR **words) {
    if (count > 1 && !lstrcmpW(words[1], L"hold")) {
        CreateDirectoryW(L"of-another", NULL);
        open_it(L"of-another", DELETE, TOGETHER, FILE_FLAG_DELETE_ON_CLOSE);
        CreateDirectoryW(L"ready", NULL);
    }
    if (count > 1) Sleep(INFINITE);
    WCHAR self[MAX_PATH];
    GetModuleFileNameW(NULL, self, MAX_PATH);
    try_holds();
    try_stand_ins(self);
    try_jobs(self);
    return 0;
}
